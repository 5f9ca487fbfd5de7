"""`--model cascade`: speech recognition, if wanted audio captioning, then a text language model that reads the results.

The ASR+LLM and ASR+AAC+LLM baselines of the SAKURA paper (section 3.2), with any Whisper, any audio language model as
captioner, and any causal language model, here or behind a server.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.answers import is_sampled
from lmms_audio_tasks.models.arguments import choice, flag, text, whole_number
from lmms_audio_tasks.models.asr import Recogniser
from lmms_audio_tasks.models.base import AudioTasksModel, Item
from lmms_audio_tasks.models.captions import Captioning, load_captioner
from lmms_audio_tasks.models.cascade_prompts import (
    TEMPLATES,
    Dialogue,
    Heard,
    build_dialogue,
    without_recordings,
    wording,
)
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.generation import Generation
from lmms_audio_tasks.models.llm import Checkpoint, LanguageModel
from lmms_audio_tasks.models.messages import Prompt
from lmms_audio_tasks.models.prefetch import Fetch, noted
from lmms_audio_tasks.models.ranking import rank_options
from lmms_audio_tasks.models.ranks import together
from lmms_audio_tasks.models.seat import Seat
from lmms_audio_tasks.models.systems import System, complete
from lmms_audio_tasks.models.transcription import Transcription
from lmms_audio_tasks.models.windows import CHOICES

ANSWERS = ("generate", "rank")
IMAGES = ("error", "omit")
DTYPES = ("auto", "float32", "float16", "bfloat16")
DEMO_MAX_NEW_TOKENS = 64
SERVER = "server:"


class Cascade(AudioTasksModel):
    """Transcribes and describes each recording once, keeps that on disk, and lets a language model answer.

    Args:
        preset: fills `asr`, `captioner` and `llm` where they are not given: `sakura_asr`, `sakura_asr_aac` (the
            paper's), or `demo` for small real models from PyPI (English only, with `max_new_tokens` 64, as the language
            model tends to go on and on).
        asr: a Whisper model of transformers (folder or hub id), or `faster-whisper:` and a CTranslate2 one.
        captioner: `audio_lm:` and a folder or hub id, or `openai_audio:` and a model of a server; None for no captions.
        llm: a causal language model of transformers (folder or hub id), or `server:` and a model of an
            OpenAI-compatible server.
        llm_gguf: a GGUF file inside `llm` to load instead of its own weights.
        base_url, captioner_base_url: the servers' addresses; see `openai_audio`.
        dtype: of all models; `auto` is float32 on the CPU, elsewhere the checkpoint's own and float16 for Whisper.
        batch_size: prompts answered at a time by a model of transformers.
        concurrency: requests under way at the language model's server.
        asr_batch_size: recordings transcribed at a time; faster-whisper takes one.
        captioner_batch_size: recordings described at a time.
        max_new_tokens: of an answer; None leaves it to the task.
        answer: `generate`, or `rank` to choose among the listed options by `ranking.rank_options`, which is not the
            paper's protocol.
        prompt: a name in `cascade_prompts.TEMPLATES`.
        images: `error`, or `omit` to ask without them and say so in the prompt.
        language: the language spoken in all recordings, e.g. `en`; None lets a multilingual Whisper find out.
        long_audio: what the captioner does with recordings longer than it hears; see `audio_lm`. Whisper reads on.
        cache_dir, resume: where answers, transcripts, captions and converted weights are kept, and whether answers are.
        trust_remote_code: whether code that comes with `llm` or `captioner` may run.
        threads: of the CPU; None leaves torch's default, one a core. Give fewer than there are cores where other work
            runs on them: a thread that waits for one that got no core burns its own.
        attn_implementation: as transformers takes it, for all models.
        one_at_a_time: whether a model of transformers is let go of before the next is loaded: the memory of the largest
            is then enough. Each is loaded again whenever it has something new to do.
        device: None for what accelerate picks.
        max_batch_size: taken because the host passes it; without effect.
    """

    def __init__(
        self,
        preset: Any = None,
        asr: Any = None,
        captioner: Any = None,
        llm: Any = None,
        llm_gguf: Any = None,
        base_url: Any = None,
        captioner_base_url: Any = None,
        dtype: Any = "auto",
        batch_size: Any = 1,
        asr_batch_size: Any = 8,
        captioner_batch_size: Any = 8,
        concurrency: Any = 16,
        max_new_tokens: Any = None,
        answer: Any = "generate",
        prompt: Any = "sentence",
        images: Any = "error",
        language: Any = None,
        long_audio: Any = "error",
        cache_dir: Any = None,
        resume: Any = True,
        trust_remote_code: Any = False,
        threads: Any = None,
        attn_implementation: Any = None,
        one_at_a_time: Any = False,
        device: Any = None,
        max_batch_size: Any = None,
        **unknown: Any,
    ) -> None:
        import torch

        super().__init__(device, unknown, resume, cache_dir)
        self._batch_size = whole_number("batch_size", batch_size)
        if max_new_tokens is None and preset == "demo":
            max_new_tokens = DEMO_MAX_NEW_TOKENS
        self._max_new_tokens = None if max_new_tokens is None else whole_number("max_new_tokens", max_new_tokens)
        self._ranks_options = choice("answer", answer, ANSWERS) == "rank"
        self._template = choice("prompt", prompt, TEMPLATES)
        self._images = choice("images", images, IMAGES)
        long_audio = choice("long_audio", long_audio, CHOICES)
        dtype = choice("dtype", dtype, DTYPES)
        if dtype == "auto" and self._device.type == "cpu":
            dtype = "float32"
        asr_batch_size = whole_number("asr_batch_size", asr_batch_size)
        captioner_batch_size = whole_number("captioner_batch_size", captioner_batch_size)
        concurrency = whole_number("concurrency", concurrency)
        attention = text("attn_implementation", attn_implementation)
        if threads is not None:
            torch.set_num_threads(whole_number("threads", threads))
        trust = flag("trust_remote_code", trust_remote_code)
        self._seat = Seat(flag("one_at_a_time", one_at_a_time))
        given = System(text("asr", asr), text("captioner", captioner), text("llm", llm))
        with together("load", everyone=True):
            system = complete(text("preset", preset), given, self._cache)
            if system.llm.startswith(SERVER) and self._ranks_options:
                raise ModelError("answer=rank needs log-probabilities, which a server does not tell")
            if base_url is not None and not system.llm.startswith(SERVER):
                raise ModelError(f"base_url= is for llm=server:<model>, not for llm={system.llm}")
            if captioner_base_url is not None and not (system.captioner or "").startswith("openai_audio:"):
                raise ModelError("captioner_base_url= is for captioner=openai_audio:<model>")
            recogniser = Recogniser(
                system.asr,
                text("language", language),
                "float16" if dtype == "auto" else dtype,
                str(self._device),
                attention,
            )
            self._transcription = Transcription(recogniser, self._cache / "transcripts", asr_batch_size, self._seat)
        self._captioning = None
        if system.captioner is not None:
            shared = {
                "dtype": dtype,
                "device": device,
                "attn_implementation": attention,
                "trust_remote_code": trust,
            }
            load = functools.partial(
                load_captioner,
                system.captioner,
                text("captioner_base_url", captioner_base_url),
                long_audio,
                shared,
                captioner_batch_size,
            )
            served = system.captioner.startswith("openai_audio:")
            # Not inside the block: it waits for its own loading on all ranks.
            self._captioning = Captioning(load, self._cache / "captions", Seat(single=False) if served else self._seat)
        with together("load", everyone=True):
            self._server, self._checkpoint = None, None
            self._llm: LanguageModel | None = None
            if system.llm.startswith(SERVER):
                from lmms_audio_tasks.models.chat_server import ChatServer

                self._server = ChatServer(
                    system.llm.removeprefix(SERVER),
                    text("base_url", base_url),
                    concurrency=concurrency,
                    max_new_tokens=self._max_new_tokens,
                )
            else:
                self._checkpoint = Checkpoint(
                    system.llm, text("llm_gguf", llm_gguf), dtype, str(self._device), attention, trust
                )
                # Now, though it may have to go again: hours of listening would be for nothing if it cannot be loaded.
                self._language_model()
        self._name = f"{Path(system.asr).name} {Path(system.llm).name}"

    def clean(self) -> None:
        """Let go of the models, as the host asks once all requests are answered; a later request loads them again."""
        self._unload_language_model()
        self._transcription.unload()
        if self._captioning is not None:
            self._captioning.unload()
        super().clean()

    def identity(self) -> Mapping[str, Any] | None:
        """The models, their settings and the wording; None where the language model's weights cannot be told apart."""
        llm: Mapping[str, Any] | None
        if self._server is not None:
            llm = {"model": self._server.model, "server": self._server.url}
        else:
            llm = self._checkpoint.identity() if self._checkpoint else None
        if llm is None:
            return None
        return {
            "model": self._name,
            "asr": self._transcription.identity,
            "captioner": self._captioning.identity if self._captioning else None,
            "llm": llm,
            "prompt": wording(self._template),
            "images": self._images,
            "answer": "rank" if self._ranks_options else "generate",
            "max_new_tokens": self._max_new_tokens,
        }

    def answer(self, items: Sequence[Item]) -> Iterator[tuple[int, str | Failure]]:
        """Failures of recordings and prompts first, then the language model's answers as they come."""
        recordings: dict[str, Fetch] = {}
        prompts = [_noted(item, recordings) for item in items]
        heard = self._hear(recordings)
        asked: dict[int, tuple[Dialogue, Prompt]] = {}
        for index, prompt in enumerate(prompts):
            if isinstance(prompt, Failure):
                yield index, prompt
                continue
            dialogue = self._dialogue(prompt, heard)
            if isinstance(dialogue, Failure):
                yield index, dialogue
            else:
                asked[index] = (dialogue, prompt)
        with self._bar(len(asked), "Ranking options" if self._ranks_options else "Answering") as bar:
            for index, answer in self._ranked(asked) if self._ranks_options else self._generated(items, asked):
                yield index, answer
                bar.update()

    def _hear(self, recordings: Mapping[str, Fetch]) -> dict[str, Heard | Failure]:
        with self._bar(len(recordings), "Transcribing") as bar:
            transcripts = self._transcription.transcribe(recordings, bar.update)
        if self._captioning is None:
            return {key: text if isinstance(text, Failure) else Heard(text) for key, text in transcripts.items()}
        with self._bar(len(recordings), "Describing") as bar:
            captions = self._captioning.caption(recordings, bar.update)
        return {key: _both(transcripts[key], captions[key]) for key in recordings}

    def _dialogue(self, prompt: Prompt, heard: Mapping[str, Heard | Failure]) -> Dialogue | Failure:
        known: dict[str, Heard] = {}
        for key in prompt.audios:
            found = heard[key]
            if isinstance(found, Failure):
                return found
            known[key] = found
        try:
            return build_dialogue(prompt, known.__getitem__, self._template, self._images)
        except ModelError as error:
            return Failure(str(error))

    def _generated(
        self, items: Sequence[Item], asked: Mapping[int, tuple[Dialogue, Prompt]]
    ) -> Iterator[tuple[int, str | Failure]]:
        """Equal conversations are answered once, unless answers are sampled."""
        places: dict[tuple[Any, ...], list[int]] = {}
        for index, (dialogue, _) in asked.items():
            how = items[index].generation
            draw = index if is_sampled(how) else None
            places.setdefault((dialogue, json.dumps(how, sort_keys=True, default=str), draw), []).append(index)
        unique = list(places.values())
        generations = [items[indices[0]].generation for indices in unique]
        dialogues = [asked[indices[0]][0] for indices in unique]
        for place, answer in self._replies(dialogues, generations):
            yield from ((index, answer) for index in unique[place])

    def _replies(
        self, dialogues: Sequence[Dialogue], generations: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[int, str | Failure]]:
        if self._server is not None:
            turns = [[{"role": role, "content": content} for role, content in dialogue] for dialogue in dialogues]
            return self._server.ask_all(turns, generations)
        how = [Generation.of(generation, self._max_new_tokens) for generation in generations]
        return self._language_model().answer(dialogues, how, self._batch_size)

    def _ranked(self, asked: Mapping[int, tuple[Dialogue, Prompt]]) -> Iterator[tuple[int, str | Failure]]:
        def question(prompt: Prompt) -> Dialogue:
            return build_dialogue(without_recordings(prompt), {}.__getitem__, self._template, self._images)

        indices = list(asked)
        questions = [(dialogue, question(prompt)) for dialogue, prompt in asked.values()]
        ranked = rank_options(self._language_model(), questions)
        return ((indices[place], answer) for place, answer in ranked)

    def _language_model(self) -> LanguageModel:
        if self._llm is None:
            assert self._checkpoint is not None
            self._seat.take(self._unload_language_model)
            self._llm = self._checkpoint.load()
        return self._llm

    def _unload_language_model(self) -> None:
        self._llm = None

    def _bar(self, total: int, what: str) -> AbstractContextManager[Any]:
        from tqdm import tqdm

        return tqdm(total=total, desc=what, disable=self._rank != 0)


def _both(transcript: str | Failure, caption: str | Failure) -> Heard | Failure:
    if isinstance(transcript, Failure):
        return transcript
    return caption if isinstance(caption, Failure) else Heard(transcript, caption)


def _noted(item: Item, recordings: dict[str, Fetch]) -> Prompt | Failure:
    prompt = item.prompt()
    if isinstance(prompt, Failure):
        return prompt
    try:
        return noted(prompt, item, recordings)
    except Exception as error:
        return Failure.of(error)
