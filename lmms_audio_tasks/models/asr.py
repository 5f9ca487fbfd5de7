"""Speech recognition: transformers' Whisper in batches, or CTranslate2's through faster-whisper, one file at a time.

Both decode greedily and without a prompt. Their texts differ, so they are two systems and keep transcripts apart.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.weights import fingerprint, load_errors, local_folder, refuse_random

Samples = npt.NDArray[np.float32]
_FASTER = "faster-whisper:"
INSTALL_HINT = 'pip install "lmms-audio-tasks[cascade]"'


class Transcriber(Protocol):
    """A loaded recogniser; `rate` is the sampling rate it takes, in Hz."""

    rate: int

    def transcribe(self, clips: Sequence[Samples]) -> list[str]:
        """The text of each clip (mono float32 at `rate`, of any length); "" where no speech was recognised."""


@dataclass(frozen=True, slots=True)
class Recogniser:
    """Which recogniser to use, and how; loads nothing.

    Attributes:
        name: a folder or hub id of a Whisper model of transformers, or `faster-whisper:` and the folder, size or hub id
            of a CTranslate2 one.
        language: the language spoken, e.g. `en`; None lets a multilingual model find out.
        dtype: `float32`, `float16` or `bfloat16`.
        device: as torch names it.
        attention: transformers' `attn_implementation`; None for its default.
    """

    name: str
    language: str | None
    dtype: str
    device: str
    attention: str | None = None

    @property
    def faster(self) -> bool:
        """Whether faster-whisper runs it."""
        return self.name.startswith(_FASTER)

    @property
    def model(self) -> str:
        """The folder or hub id alone."""
        return self.name.removeprefix(_FASTER)

    @property
    def folder(self) -> Path | None:
        """The folder of a local model; None for a hub id or a size."""
        return local_folder(self.model)

    @property
    def compute_type(self) -> str:
        """What CTranslate2 computes in: int8 on the CPU, where it is as good and several times faster."""
        # A rank's device is called `cpu:0`.
        return "int8" if self.device.partition(":")[0] == "cpu" else self.dtype

    def load(self) -> Transcriber:
        """Load it; `ModelError` if it is not there or not a Whisper model."""
        return _FasterWhisper(self) if self.faster else _Whisper(self)

    def identity(self) -> dict[str, str | None] | None:
        """All that its transcripts depend on besides the recording; None where its weights are not on this machine yet.

        Raises:
            ModelError: the package that runs it is not installed.
        """
        if self.faster and importlib.util.find_spec("faster_whisper") is None:
            raise ModelError(f"asr={self.name}: faster-whisper is not installed: {INSTALL_HINT}")
        weights = self._weights()
        if weights is None:
            return None
        return {
            "engine": "faster-whisper" if self.faster else "transformers",
            "model": self.model,
            "weights": weights,
            "language": self.language,
            "dtype": self.compute_type if self.faster else self.dtype,
            "decoding": "greedy",
        }

    def _weights(self) -> str | None:
        if self.faster and self.folder is None:
            import faster_whisper

            try:
                return Path(faster_whisper.download_model(self.model, local_files_only=True)).name
            except (OSError, ValueError):
                return None
        return fingerprint(self.model)


class _Whisper:
    """Whisper by transformers, in batches. Clips beyond its window (30 s) are read on, not cut."""

    def __init__(self, wanted: Recogniser) -> None:
        import torch
        from transformers import WhisperConfig, WhisperForConditionalGeneration, WhisperProcessor

        name = str(wanted.folder or wanted.model)
        try:
            kind = WhisperConfig.get_config_dict(name)[0].get("model_type")
            if kind != "whisper":
                raise ModelError(f"asr={name}: expected a Whisper model, found one of type {kind!r}")
            self._processor = WhisperProcessor.from_pretrained(name)
            loaded: Any = WhisperForConditionalGeneration.from_pretrained(
                name,
                dtype=getattr(torch, wanted.dtype),
                attn_implementation=wanted.attention,
                output_loading_info=True,
            )
        except load_errors() as error:
            raise ModelError(f"asr={name}: cannot be loaded: {' '.join(str(error).split())}") from error
        model, info = loaded
        refuse_random(f"asr={name}", info["missing_keys"])
        self._model = model.to(wanted.device).eval()
        self._extractor = self._processor.feature_extractor
        self.rate = int(self._extractor.sampling_rate)
        self._options = self._language_options(wanted)

    def _language_options(self, wanted: Recogniser) -> dict[str, Any]:
        generation = self._model.generation_config
        if not getattr(generation, "is_multilingual", False):
            _check_english(wanted)
            return {}
        if wanted.language is not None:
            from transformers.models.whisper.tokenization_whisper import TO_LANGUAGE_CODE

            named = wanted.language.lower()
            token = f"<|{TO_LANGUAGE_CODE.get(named, named)}|>"
            _check_known(wanted, not {named, token}.isdisjoint(getattr(generation, "lang_to_id", {})))
        return {"task": "transcribe", "language": wanted.language}

    def transcribe(self, clips: Sequence[Samples]) -> list[str]:
        texts = [""] * len(clips)
        long = [index for index, clip in enumerate(clips) if len(clip) > self._extractor.n_samples]
        short = sorted(set(range(len(clips))) - set(long))
        for indices, beyond_window in ((short, False), (long, True)):
            if indices:
                found = self._generate([clips[index] for index in indices], beyond_window)
                for index, text in zip(indices, found, strict=True):
                    texts[index] = text
        return texts

    def _features(self, clips: list[Samples], beyond_window: bool) -> Any:
        options: dict[str, Any] = {"sampling_rate": self.rate, "return_tensors": "pt", "return_attention_mask": True}
        if not beyond_window:
            return self._extractor(clips, **options)
        # The frames at a clip's end see beyond it: silence beside a longer clip, but the clip mirrored where it is the
        # longest. With silence of its own each is heard alike in any company.
        longer = [np.pad(clip, (0, self._extractor.n_fft)) for clip in clips]
        inputs = self._extractor(longer, truncation=False, padding="longest", **options)
        frames = [-(-len(clip) // self._extractor.hop_length) for clip in clips]
        for mask, count in zip(inputs.attention_mask, frames, strict=True):
            mask[count:] = 0
        # Cut to the longest, as `generate` does not look at the mask of a single clip.
        inputs["input_features"] = inputs.input_features[..., : max(frames)]
        inputs["attention_mask"] = inputs.attention_mask[:, : max(frames)]
        return inputs

    def _generate(self, clips: list[Samples], beyond_window: bool) -> list[str]:
        import torch

        inputs = self._features(clips, beyond_window)
        with torch.inference_mode():
            tokens = self._model.generate(
                inputs.input_features.to(self._model.device, self._model.dtype),
                attention_mask=inputs.attention_mask.to(self._model.device),
                num_beams=1,
                do_sample=False,
                # Reading on beyond the window goes by the time stamps that the model writes.
                return_timestamps=beyond_window,
                **self._options,
            )
        return [text.strip() for text in self._processor.batch_decode(tokens, skip_special_tokens=True)]


class _FasterWhisper:
    """Whisper by CTranslate2; takes one clip at a time, of any length."""

    rate = 16_000

    def __init__(self, wanted: Recogniser) -> None:
        import torch
        from faster_whisper import WhisperModel

        device = torch.device(wanted.device)
        try:
            self._model = WhisperModel(
                str(wanted.folder or wanted.model),
                device=device.type,
                device_index=device.index or 0,
                compute_type=wanted.compute_type,
                # CTranslate2's own default ignores how many cores this process may use.
                cpu_threads=torch.get_num_threads(),
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise ModelError(f"asr={wanted.name}: cannot be loaded: {error}") from error
        if not self._model.model.is_multilingual:
            _check_english(wanted)
        else:
            _check_known(wanted, wanted.language in (None, *self._model.supported_languages))
        self._language = wanted.language

    def transcribe(self, clips: Sequence[Samples]) -> list[str]:
        return [self._one(clip) for clip in clips]

    def _one(self, clip: Samples) -> str:
        segments, _ = self._model.transcribe(
            clip, language=self._language, beam_size=1, temperature=0.0, condition_on_previous_text=False
        )
        return " ".join(text for segment in segments if (text := segment.text.strip()))


def _check_known(wanted: Recogniser, known: bool) -> None:
    if not known:
        raise ModelError(f"language={wanted.language} is not one that {wanted.name} knows, such as en or de")


def _check_english(wanted: Recogniser) -> None:
    if wanted.language not in (None, "en"):
        raise ModelError(f"asr={wanted.name}: the model is not multilingual; language={wanted.language} cannot be had")
