"""An audio language model of transformers by name: its class by the config's type, and its processor."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from types import MethodType
from typing import Any

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.families import Family, family_of
from lmms_audio_tasks.models.weights import load_errors, local_folder, refuse_random

logger = logging.getLogger(__name__)
_AUTO_CLASSES = (
    "AutoModelForMultimodalLM",
    "AutoModelForImageTextToText",
    # Audio Flamingo 3 and Music Flamingo stand only here.
    "AutoModelForSeq2SeqLM",
    "AutoModelForSpeechSeq2Seq",
    "AutoModelForCausalLM",
)
"""In order of preference."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which model to load, and how.

    Attributes:
        name: a folder or hub id.
        revision: of a hub id; None for its main branch.
        dtype: `float32`, `float16`, `bfloat16`, or `auto` for the checkpoint's own.
        device: as torch names it; where `device_map` is None.
        device_map: `auto` to spread the model over all GPUs of this process.
        attention: transformers' `attn_implementation`; None for its default.
        trust_remote_code: whether code that comes with the checkpoint may run.
    """

    name: str
    revision: str | None
    dtype: str
    device: str
    device_map: str | None = None
    attention: str | None = None
    trust_remote_code: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model, the processor of its inputs, and its quirks."""

    model: Any
    processor: Any
    family: Family


def load(wanted: Wanted) -> Loaded:
    """Load it.

    Raises:
        ModelError: it is not there or damaged, no audio language model, or needs its own code.
    """
    from transformers import AutoConfig, AutoProcessor

    name = str(local_folder(wanted.name) or wanted.name)
    shared = {"revision": wanted.revision, "trust_remote_code": wanted.trust_remote_code}
    try:
        config = AutoConfig.from_pretrained(name, **shared)
        # Of models that also speak, only the part that thinks: it writes the text.
        config = getattr(config, "thinker_config", None) or config
        processor = AutoProcessor.from_pretrained(name, **shared)
        model, info = _model_class(config, wanted).from_pretrained(
            name,
            dtype=wanted.dtype,
            attn_implementation=wanted.attention,
            device_map=wanted.device_map,
            output_loading_info=True,
            **shared,
        )
        family = family_of(config.model_type)
        if family.adapter:
            _load_adapter(model, name, family.adapter, wanted)
    except load_errors() as error:
        reason = " ".join(str(error).split())
        raise ModelError(f"pretrained={wanted.name}: cannot be loaded: {reason}") from error
    # A model's own code may take them from elsewhere.
    if not wanted.trust_remote_code:
        refuse_random(f"pretrained={wanted.name}", info["missing_keys"])
    _complete(processor, family, wanted.name)
    if wanted.device_map is None:
        model.to(wanted.device)
    return Loaded(model.eval(), processor, family)


def extractor(processor: Any) -> Any:
    """The part of a processor that makes features of audio; None where it has none."""
    return getattr(processor, "feature_extractor", None) or getattr(processor, "audio_processor", None)


def _model_class(config: Any, wanted: Wanted) -> Any:
    import transformers

    remote = getattr(config, "auto_map", None) or {}
    for name in (*_AUTO_CLASSES, "AutoModel"):
        auto = getattr(transformers, name)
        if wanted.trust_remote_code and name in remote:
            return auto
        if name != "AutoModel" and (found := auto._model_mapping.get(type(config), None)):
            return found
    hint = "; its own code may run with trust_remote_code=true" if remote else ""
    raise ModelError(f"pretrained={wanted.name}: transformers has no model that writes text of type "
                     f"{config.model_type!r}{hint}")  # fmt: skip


def _complete(processor: Any, family: Family, name: str) -> None:
    """Mend what the processor lacks; `ModelError` where it cannot do."""
    if extractor(processor) is None or getattr(processor, "tokenizer", None) is None:
        raise ModelError(f"pretrained={name}: no audio language model; its processor is a {type(processor).__name__}")
    tokenizer = processor.tokenizer
    # Phi-4's processor loses the template that it was saved with.
    if getattr(processor, "chat_template", None) is None and getattr(tokenizer, "chat_template", None):
        processor.chat_template = tokenizer.chat_template
    if not family.encoded and getattr(processor, "chat_template", None) is None:
        raise ModelError(f"pretrained={name}: it has no chat template; is there an instruction-tuned version?")
    if getattr(tokenizer, "pad_token_id", None) is None:
        tokenizer.pad_token = tokenizer.eos_token
    if family.pairs:
        from transformers import ProcessorMixin

        processor.validate_inputs = MethodType(ProcessorMixin.validate_inputs, processor)


def _load_adapter(model: Any, name: str, folder: str, wanted: Wanted) -> None:
    from transformers.utils import cached_file

    found = cached_file(
        name,
        "adapter_config.json",
        subfolder=folder,
        revision=wanted.revision,
        _raise_exceptions_for_missing_entries=False,
    )
    if found is None:
        logger.warning("%s has no adapter in %s; it may not understand audio", name, folder)
        return
    model.load_adapter(name, adapter_name=folder, adapter_kwargs={"subfolder": folder, "revision": wanted.revision})
    model.set_adapter(folder)
