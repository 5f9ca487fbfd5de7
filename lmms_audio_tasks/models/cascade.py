"""`--model cascade`: speech recognition, then a text language model that reads the transcript and the question.

The ASR+LLM baseline of the SAKURA paper (section 3.2: Whisper-large-v3, then Llama-3.1-8B-Instruct), with any Whisper
and any causal language model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from lmms_audio_tasks.cache import cache_root
from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models import demo
from lmms_audio_tasks.models.arguments import choice, flag, text, whole_number
from lmms_audio_tasks.models.asr import Recogniser
from lmms_audio_tasks.models.base import AudioTasksModel, Item
from lmms_audio_tasks.models.cascade_prompts import TEMPLATES, build_prompt
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.generation import Generation
from lmms_audio_tasks.models.llm import Checkpoint, LanguageModel
from lmms_audio_tasks.models.ranking import rank_options
from lmms_audio_tasks.models.ranks import together
from lmms_audio_tasks.models.transcription import Fetch, Recordings, Transcription

PRESETS = ("demo",)
ANSWERS = ("generate", "rank")
DEMO_MAX_NEW_TOKENS = 64
DTYPES = ("auto", "float32", "float16", "bfloat16")


class Cascade(AudioTasksModel):
    """Transcribes each recording once, keeps the transcripts on disk, and lets a language model answer.

    Args:
        preset: `demo` for small real models from PyPI (English only): fills `asr`, `llm` and `max_new_tokens` (64, as
            the small model tends to go on and on) where they are not given.
        asr: a Whisper model of transformers (folder or hub id), or `faster-whisper:` and a CTranslate2 one.
        llm: a causal language model of transformers (folder or hub id).
        llm_gguf: a GGUF file inside `llm` to load instead of its own weights.
        dtype: of both models; `auto` is float32 on the CPU, elsewhere the checkpoint's own for the language model and
            float16 for Whisper.
        batch_size: prompts answered at a time.
        asr_batch_size: recordings transcribed at a time; faster-whisper takes one.
        max_new_tokens: of an answer; None leaves it to the task.
        answer: `generate`, or `rank` to choose among the listed options by `ranking.rank_options`, which is not the
            paper's protocol.
        prompt: a name in `cascade_prompts.TEMPLATES`.
        language: the language spoken in all recordings, e.g. `en`; None lets a multilingual Whisper find out.
        cache_dir: where transcripts and converted weights are kept; None for `cache.cache_root()`.
        trust_remote_code: whether code that comes with `llm` may run.
        threads: of the CPU; None leaves torch's default, one a core. Give fewer than there are cores where other work
            runs on them: a thread that waits for one that got no core burns its own.
        attn_implementation: as transformers takes it, for both models.
        device: None for what accelerate picks.
        max_batch_size: taken because the host passes it; without effect.
    """

    def __init__(
        self,
        preset: Any = None,
        asr: Any = None,
        llm: Any = None,
        llm_gguf: Any = None,
        dtype: Any = "auto",
        batch_size: Any = 1,
        asr_batch_size: Any = 8,
        max_new_tokens: Any = None,
        answer: Any = "generate",
        prompt: Any = "sentence",
        language: Any = None,
        cache_dir: Any = None,
        trust_remote_code: Any = False,
        threads: Any = None,
        attn_implementation: Any = None,
        device: Any = None,
        max_batch_size: Any = None,
        **unknown: Any,
    ) -> None:
        import torch

        super().__init__(device, unknown)
        self._batch_size = whole_number("batch_size", batch_size)
        if max_new_tokens is None and preset is not None:
            max_new_tokens = DEMO_MAX_NEW_TOKENS
        self._max_new_tokens = None if max_new_tokens is None else whole_number("max_new_tokens", max_new_tokens)
        self._ranks_options = choice("answer", answer, ANSWERS) == "rank"
        self._template = choice("prompt", prompt, TEMPLATES)
        cache = Path(text("cache_dir", cache_dir) or cache_root()).expanduser()
        dtype = choice("dtype", dtype, DTYPES)
        if dtype == "auto" and self._device.type == "cpu":
            dtype = "float32"
        asr_batch_size = whole_number("asr_batch_size", asr_batch_size)
        attention = text("attn_implementation", attn_implementation)
        if threads is not None:
            torch.set_num_threads(whole_number("threads", threads))
        trust = flag("trust_remote_code", trust_remote_code)
        with together("load", everyone=True):
            asr_name, llm_name = _models(text("preset", preset), text("asr", asr), text("llm", llm), cache)
            recogniser = Recogniser(
                asr_name,
                text("language", language),
                "float16" if dtype == "auto" else dtype,
                str(self._device),
                attention,
            )
            self._transcription = Transcription(recogniser, cache / "transcripts", asr_batch_size)
            self._checkpoint = Checkpoint(
                llm_name, text("llm_gguf", llm_gguf), dtype, str(self._device), attention, trust
            )
            self._llm: LanguageModel | None = self._checkpoint.load()

    def clean(self) -> None:
        """Let go of the models, as the host asks once all requests are answered; a later request loads them again."""
        self._llm = None
        self._transcription.unload()
        super().clean()

    def answer(self, items: Sequence[Item]) -> Iterator[tuple[int, str | Failure]]:
        """The language model's answer to each item; a failure where its recording or prompt cannot be dealt with."""
        return enumerate(self._all(items))

    def _all(self, items: Sequence[Item]) -> list[str | Failure]:
        recordings = Recordings()
        questions = [_question(item, recordings) for item in items]
        with self._bar(len(recordings.fetch), "Transcribing") as bar:
            transcripts = self._transcription.transcribe(recordings.fetch, bar.update)
        prompts = [self._prompt(question, transcripts) for question in questions]
        if self._ranks_options:
            return self._rank_options(prompts, questions)
        return self._generate(prompts, [Generation.of(item.generation, self._max_new_tokens) for item in items])

    def _prompt(
        self, question: tuple[str, tuple[str, ...]] | Failure, transcripts: Mapping[str, str | Failure]
    ) -> str | Failure:
        if isinstance(question, Failure):
            return question
        instruction, keys = question
        texts: list[str] = []
        for key in keys:
            transcript = transcripts[key]
            if isinstance(transcript, Failure):
                return transcript
            texts.append(transcript)
        return build_prompt(instruction, texts, self._template)

    def _generate(self, prompts: Sequence[str | Failure], how: Sequence[Generation]) -> list[str | Failure]:
        """Answer prompts grouped by how they are to be answered; equal prompts once, unless answers are sampled."""
        groups: dict[Generation, dict[tuple[str, int], list[int]]] = {}
        for index, (prompt, generation) in enumerate(zip(prompts, how, strict=True)):
            if isinstance(prompt, str):
                key = (prompt, index if generation.sampled else 0)
                groups.setdefault(generation, {}).setdefault(key, []).append(index)
        answers = list(prompts)
        with self._bar(sum(map(len, groups.values())), "Answering") as bar:
            for generation, places in groups.items():
                unique = [prompt for prompt, _ in places]
                results = self._language_model().generate(unique, generation, self._batch_size, bar.update)
                for indices, result in zip(places.values(), results, strict=True):
                    for index in indices:
                        answers[index] = result
        return answers

    def _rank_options(
        self, prompts: Sequence[str | Failure], questions: Sequence[tuple[str, tuple[str, ...]] | Failure]
    ) -> list[str | Failure]:
        answers = list(prompts)
        places = {
            index: (prompt, question[0])
            for index, (prompt, question) in enumerate(zip(prompts, questions, strict=True))
            if isinstance(prompt, str) and not isinstance(question, Failure)
        }
        with self._bar(len(places), "Ranking options") as bar:
            ranked = rank_options(self._language_model(), list(places.values()), bar.update)
        for index, answer in zip(places, ranked, strict=True):
            answers[index] = answer
        return answers

    def _language_model(self) -> LanguageModel:
        if self._llm is None:
            self._llm = self._checkpoint.load()
        return self._llm

    def _bar(self, total: int, what: str) -> AbstractContextManager[Any]:
        from tqdm import tqdm

        return tqdm(total=total, desc=what, disable=self._rank != 0)


def _models(preset: str | None, asr: str | None, llm: str | None, cache: Path) -> tuple[str, str]:
    """The names of recogniser and language model."""
    if preset is not None:
        choice("preset", preset, PRESETS)
        asr = asr or f"faster-whisper:{demo.whisper_folder()}"
        llm = llm or str(demo.smollm2_folder(cache))
    if asr is None or llm is None:
        missing = " and ".join(name for name, value in (("asr", asr), ("llm", llm)) if value is None)
        raise ModelError(f"cascade needs {missing}=<folder or hub id>, or preset=demo for small models to try it with")
    return asr, llm


def _question(item: Item, recordings: Recordings) -> tuple[str, tuple[str, ...]] | Failure:
    """The item's text and its recordings' content hashes; new recordings are added to `recordings`."""
    prompt = item.prompt()
    if isinstance(prompt, Failure):
        return prompt
    try:
        keys = [recordings.add(source, _again(item, position)) for position, source in enumerate(prompt.audios)]
    except Exception as error:
        return Failure.of(error)
    return prompt.text, tuple(keys)


def _again(item: Item, position: int) -> Fetch:
    return lambda: item.read().audios[position]
