"""A text language model of transformers: conversations in, answers out, in left-padded batches."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.batches import in_batches
from lmms_audio_tasks.models.cascade_prompts import Dialogue
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.generation import Generation
from lmms_audio_tasks.models.weights import fingerprint, load_errors, local_folder, refuse_random

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Which language model to load, and how.

    Attributes:
        name: a folder or hub id of a causal language model of transformers.
        gguf: a GGUF file in it, which is taken instead of its own weights; needs the package `gguf`.
        dtype: `float32`, `float16`, `bfloat16`, or `auto` for the checkpoint's own.
        device: as torch names it.
        attention: transformers' `attn_implementation`; None for its default.
        trust_remote_code: whether code that comes with the checkpoint may run.
    """

    name: str
    gguf: str | None
    dtype: str
    device: str
    attention: str | None = None
    trust_remote_code: bool = False

    def load(self) -> LanguageModel:
        """Load it; `ModelError` if that fails, or it is no causal language model, whose answers would be noise."""
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

        name = str(local_folder(self.name) or self.name)
        shared: dict[str, Any] = {"trust_remote_code": self.trust_remote_code}
        if self.gguf:
            shared["gguf_file"] = self.gguf
        try:
            # Not for GGUF files, whose config takes seconds to read: transformers knows few kinds of them, all causal
            # or refused.
            if not self.gguf:
                self._refuse_others(AutoConfig.from_pretrained(name, **shared))
            tokenizer = AutoTokenizer.from_pretrained(name, **shared)
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                name, dtype=self.dtype, attn_implementation=self.attention, output_loading_info=True, **shared
            )
        except load_errors() as error:
            raise ModelError(f"llm={self.name}: cannot be loaded: {' '.join(str(error).split())}") from error
        model, info = loaded
        if not self.trust_remote_code:
            refuse_random(f"llm={self.name}", info["missing_keys"])
        return LanguageModel(model.to(self.device).eval(), tokenizer)

    def _refuse_others(self, config: Any) -> None:
        """Raise `ModelError` for a model of another kind: transformers would load the half that fits, and go on."""
        from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

        if self.trust_remote_code and "AutoModelForCausalLM" in (getattr(config, "auto_map", None) or {}):
            return
        found: Any = AutoModelForCausalLM._model_mapping.get(type(config), None)
        saved_as = config.architectures or ()
        # Encoders can also be built as decoders; only a checkpoint that says so is one.
        encoder = AutoModelForMaskedLM._model_mapping.get(type(config), None)
        if found is None or config.is_encoder_decoder or (encoder and found.__name__ not in saved_as):
            kind = " ".join(saved_as) or config.model_type
            raise ModelError(f"llm={self.name}: expected a causal language model, found {kind}")

    def identity(self) -> dict[str, str | bool | None] | None:
        """All that its greedy answers depend on besides the dialogue; None for weights that cannot be told apart."""
        weights = fingerprint(self.name)
        if weights is None:
            return None
        return {
            "model": self.name,
            "weights": weights,
            "gguf": self.gguf,
            "dtype": self.dtype,
            "attention": self.attention,
            "trust_remote_code": self.trust_remote_code,
        }


class LanguageModel:
    """A loaded model and its tokenizer.

    A conversation goes through the tokenizer's chat template, without a system turn of ours (some templates add their
    own). Without a template the model reads the turns' texts as they stand, a blank line between.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._model = model
        self._tokenizer = tokenizer
        # The answer must begin where the prompt ends, so padding goes before it.
        tokenizer.padding_side = "left"
        if tokenizer.pad_token is None:
            if tokenizer.eos_token is None:
                raise ModelError("the language model's tokenizer has neither a padding nor an end token")
            tokenizer.pad_token = tokenizer.eos_token
        if not tokenizer.chat_template:
            logger.warning("the language model has no chat template: prompts are given to it as plain text")

    def answer(
        self, dialogues: Sequence[Dialogue], how: Sequence[Generation], batch_size: int
    ) -> Iterator[tuple[int, str | Failure]]:
        """Yield each conversation's number and its answer, cut and stripped as `how` says, as its batch is done.

        With greedy decoding in float32 an answer does not depend on the batch size.
        """
        groups: dict[Generation, list[int]] = {}
        for index, generation in enumerate(how):
            groups.setdefault(generation, []).append(index)
        for generation, indices in groups.items():
            found = self._answer_alike([dialogues[index] for index in indices], generation, batch_size)
            yield from ((indices[place], answer) for place, answer in found)

    def _answer_alike(
        self, dialogues: Sequence[Dialogue], how: Generation, batch_size: int
    ) -> Iterator[tuple[int, str | Failure]]:
        ids: dict[int, list[int]] = {}
        for index, dialogue in enumerate(dialogues):
            found = self._tokens(dialogue, how)
            if isinstance(found, Failure):
                yield index, found
            else:
                ids[index] = found
        # Longest first: like lengths waste the least padding, and a lack of memory shows at once.
        order = sorted(ids, key=lambda index: -len(ids[index]))

        def work(batch: Sequence[int]) -> list[str]:
            return self._generate([ids[index] for index in batch], how)

        for batch, answers in in_batches(order, batch_size, work):
            yield from zip(batch, answers, strict=True)

    def mean_log_probabilities(self, dialogue: Dialogue, continuations: Sequence[str]) -> tuple[float, ...]:
        """For each continuation, the mean over its tokens of log P(token | dialogue, tokens before), in nats, <= 0.

        Each must have a token at least (a blank text may have none: `ValueError`).
        """
        import torch

        device = self._model.device
        ids = [self._tokenizer(text, add_special_tokens=False).input_ids for text in continuations]
        if not all(ids):
            raise ValueError("a continuation without a token has no probability")
        prompt_ids = self._encode(dialogue)
        width = max(map(len, ids))
        # What comes after a continuation's end cannot change what came before it, so any padding will do.
        padded = [row + [0] * (width - len(row)) for row in ids]
        rows = torch.tensor([prompt_ids + row for row in padded], device=device)
        with torch.inference_mode():
            # The logits of one token stand at the place of the token before it.
            logits = self._model(rows, use_cache=False, logits_to_keep=width + 1).logits[:, :-1]
            found = logits.float().log_softmax(-1).gather(-1, rows[:, -width:, None])[..., 0]
        return tuple(float(row[: len(own)].mean()) for row, own in zip(found, ids, strict=True))

    def _encode(self, dialogue: Dialogue) -> list[int]:
        if not self._tokenizer.chat_template:
            return self._tokenizer("\n\n".join(content for _, content in dialogue)).input_ids
        turns = [{"role": role, "content": content} for role, content in dialogue]
        text = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        # The template wrote the special tokens already.
        return self._tokenizer(text, add_special_tokens=False).input_ids

    def _generate(self, ids: Sequence[list[int]], how: Generation) -> list[str]:
        import torch

        inputs = self._tokenizer.pad({"input_ids": list(ids)}, return_tensors="pt").to(self._model.device)
        with torch.inference_mode():
            tokens = self._model.generate(
                input_ids=inputs.input_ids,
                attention_mask=inputs.attention_mask,
                pad_token_id=self._tokenizer.pad_token_id,
                **how.keywords,
            )
        new = tokens[:, inputs.input_ids.shape[1] :]
        return [how.cut(answer) for answer in self._tokenizer.batch_decode(new, skip_special_tokens=True)]

    def _tokens(self, dialogue: Dialogue, how: Generation) -> list[int] | Failure:
        """The prompt's tokens; a failure if the template refuses it, or it leaves too little room for the answer."""
        try:
            ids = self._encode(dialogue)
        except Exception as error:
            return Failure.of(error)
        # Models that also see have it in the part of their config that is about text.
        room = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        answer = how.keywords["max_new_tokens"]
        if not room or len(ids) + answer <= room:
            return ids
        return Failure(f"a prompt of {len(ids)} tokens and up to {answer} new ones exceed the language model's {room}")
