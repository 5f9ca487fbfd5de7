"""`synthesize`: the engines, and what becomes of programs that fail."""

from __future__ import annotations

import inspect
import shutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from synth_data import TONES

from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.registry import UnknownNameError
from lmms_audio_tasks.synthesize.tts import Choice, SpeechError, pocket
from lmms_audio_tasks.synthesize.tts.command import Command
from lmms_audio_tasks.synthesize.tts.espeak import Espeak
from lmms_audio_tasks.synthesize.tts.pocket import PocketTTS
from lmms_audio_tasks.synthesize.voices import Voice

NOWHERE = Path("nowhere")
VOICE = Voice("v1", "Ayr", "", "", engine_voice="en")
needs_espeak = pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")


def test_unknown_engines_are_told_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="did you mean espeak"):
        Choice("espeek", "en", 9).load()


# --- espeak-ng ---


@needs_espeak
def test_espeak_speaks_the_same_again_and_voices_differ() -> None:
    engine = Choice("espeak", "en", 30).load()
    one, rate = engine.speak("Is this fine?", VOICE, NOWHERE, 0)
    assert one.dtype == np.float32 and one.ndim == 1 and rate == 22050 and 0.5 < len(one) / rate < 3
    assert not engine.draws and np.array_equal(one, engine.speak("Is this fine?", VOICE, NOWHERE, 1)[0])
    high = Voice("v2", "Ayr", "", "", engine_voice="en-us+f2", pitch="80", pace="120")
    assert len(engine.speak("Is this fine?", high, NOWHERE, 0)[0]) > len(one)
    told = engine.identity()
    assert told["engine"] == "espeak" and "/" not in told["version"]


@needs_espeak
def test_espeak_takes_nothing_for_markup_or_an_option() -> None:
    """The pause of three seconds is not made, the phonemes are not read, and no file is written."""
    engine = Espeak(30)
    seconds = [len(engine.speak(text, VOICE, NOWHERE, 0)[0]) / 22050 for text in (
        "one two", '<speak>one <break time="9s"/> two</speak>', "-w /nowhere/x.wav", "[[h@l'oU]]"
    )]  # fmt: skip
    assert 0.4 < seconds[0] < 2 and seconds[1] < 9 and seconds[2] > 0.5
    bare = engine.speak("  h@l'oU  ", VOICE, NOWHERE, 0)[0]
    assert np.array_equal(engine.speak("[[h@l'oU]]", VOICE, NOWHERE, 0)[0], bare)


@needs_espeak
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("klingonese", "'klingonese' (espeak-ng ended with code 1"),
        ("en+nosuch", "'nosuch'"),
        ("", "an empty engine_voice"),
    ],
)
def test_espeak_voices_that_do_not_exist(name: str, told: str) -> None:
    fault = Espeak(30).voice_fault(Voice("v", "Ayr", "", "", engine_voice=name), NOWHERE)
    assert fault is not None and "of espeak-ng" in fault[0] and told in fault[1]


def test_espeak_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(AudioTasksError, match="espeak-ng is not installed: install it"):
        Choice("espeak", "en", 30).load()


# --- any command ---


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "my tones.py"
    path.write_text(TONES, "utf-8")
    return path


def command(script: Path, timeout: float = 30, fields: str = "{text_file} {wav} {voice}") -> Command:
    return Command(f"{sys.executable} '{script}' {fields}", "en", timeout)


def test_the_text_never_meets_a_shell(script: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    engine = command(script)
    text = f"one; touch {mark} && $(touch {mark}) `touch {mark}` {{wav}}"
    samples, rate = engine.speak(text, VOICE, NOWHERE, 0)
    assert rate == 8000 and len(samples) == round(0.35 * len(text.split()) * 8000) and not mark.exists()
    odd = Voice("v", "Ayr", "", "", engine_voice=f"; touch {mark}")
    engine.speak("one", odd, NOWHERE, 0)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("empty", "wrote an empty file"),
        ("corrupt", "wrote audio that cannot be used"),
        ("nothing", "wrote no audio file"),
        ("hang", "took longer than 1.5 s"),
    ],
)
def test_programs_that_fail(how: str, told: str, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TONES_HOW", how)
    with pytest.raises(SpeechError) as error:
        command(script, 1.5 if how == "hang" else 30).speak("one two", VOICE, NOWHERE, 0)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_programs_that_end_with_an_error(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TONES_FAIL", "two")
    with pytest.raises(SpeechError, match="ended with code 1: cannot say two"):
        command(script).speak("one two", VOICE, NOWHERE, 0)


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("", "needs --command"),
        ("say {text_file}", "{wav} is missing"),
        ("say {wav}", "{text_file} is missing"),
        ("say {text_file} {wav} {mood}", "no field {mood}; there are text_file, wav"),
        ("say {text_file} {wav} {seed:>9}", "a field is a name in braces and nothing more"),
        ("say {text_file} {wav} {", "a brace is written twice"),
        ("say '{text_file} {wav}", "cannot be split into words"),
        ("no-such-program {text_file} {wav}", "no program 'no-such-program'"),
    ],
)
def test_templates_at_fault(template: str, told: str) -> None:
    with pytest.raises(AudioTasksError) as error:
        Command(template, "en", 9)
    assert told in str(error.value)


def test_what_a_template_needs_of_a_voice(script: Path, tmp_path: Path) -> None:
    engine = command(script, fields="{text_file} {wav} {voice} {reference} {seed} {pitch}")
    assert engine.draws and not command(script).draws
    there = tmp_path / "r.wav"
    soundfile.write(there, np.zeros(99), 16000)
    whole = Voice("v", "Ayr", "", "", engine_voice="x", pitch="5", reference="r.wav")
    assert engine.voice_fault(whole, there) is None
    assert engine.voice_fault(whole, NOWHERE) == ("a reference recording", "'r.wav' that is not there")
    assert engine.voice_fault(Voice("v", "Ayr", "", "", pitch="5"), there) == (
        "a value for {voice} of the command",
        "none",
    )


# --- Pocket TTS ---


class FakeModel:
    """As `pocket_tts.TTSModel` 4.0.1: the same names, parameters and shapes, tones in place of speech."""

    sample_rate = 24000

    @classmethod
    def load_model(cls, language: str | None = None, config: Any = None, **_: Any) -> FakeModel:
        if language == "klingon":
            raise FileNotFoundError("no klingon.yaml")
        model = cls()
        model.loaded = (language, config)
        model.states = 0
        return model

    def to(self, device: str) -> FakeModel:
        return self

    def get_state_for_audio_prompt(self, audio_conditioning: torch.Tensor, truncate: bool = False) -> dict[str, Any]:
        assert audio_conditioning.shape[0] == 1 and audio_conditioning.dtype == torch.float32
        self.states += 1
        return {"seconds": audio_conditioning.shape[1] / self.sample_rate}

    def generate_audio(self, model_state: dict[str, Any], text_to_generate: str, **_: Any) -> torch.Tensor:
        if "boom" in text_to_generate:
            raise RuntimeError("out of\nmemory")
        count = 0 if "silence" in text_to_generate else 2400 * len(text_to_generate.split())
        return torch.rand(count) * 0.1 + model_state["seconds"]


@pytest.fixture
def fake_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module = types.ModuleType("pocket_tts")
    module.TTSModel = FakeModel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pocket_tts", module)
    yield


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    path = tmp_path / "speaker.wav"
    soundfile.write(path, 0.2 * np.sin(np.arange(8000) / 9), 16000)
    return path


CLONED = Voice("v", "Ayr", "", "", reference="speaker.wav")


@pytest.mark.usefixtures("fake_package")
def test_cloning_speaks_as_the_reference_and_by_the_seed(reference: Path) -> None:
    engine = Choice("clone", "en-gb", 30).load()
    assert isinstance(engine, PocketTTS) and engine.draws and engine._model.loaded == ("english", None)
    one, rate = engine.speak("one two", CLONED, reference, 1)
    assert rate == 24000 and one.shape == (4800,) and one.dtype == np.float32 and 0.5 <= one.min() < 0.6
    other = engine.speak("one two", CLONED, reference, 2)[0]
    assert np.array_equal(one, engine.speak("one two", CLONED, reference, 1)[0]) and not np.array_equal(one, other)
    assert engine._model.states == 1
    assert engine.identity()["model"] == "english" and engine.identity()["device"] == "cpu"


@pytest.mark.usefixtures("fake_package")
def test_cloning_loads_other_models() -> None:
    assert PocketTTS("french_24l", "cpu", 9)._model.loaded == ("french_24l", None)
    assert PocketTTS("my.yaml", "cpu", 9)._model.loaded == (None, "my.yaml")
    with pytest.raises(AudioTasksError, match="'klingon' cannot be loaded: FileNotFoundError: no klingon"):
        PocketTTS("klingon", "cpu", 9)


@pytest.mark.usefixtures("fake_package")
def test_cloning_that_fails_fails_one_text(reference: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = PocketTTS("en", "cpu", 60)
    with pytest.raises(SpeechError, match="pocket-tts: RuntimeError: out of memory"):
        engine.speak("boom", CLONED, reference, 0)
    with pytest.raises(SpeechError, match="gave no samples"):
        engine.speak("silence", CLONED, reference, 0)

    def slow(*_: Any) -> None:
        import time

        time.sleep(5)

    monkeypatch.setattr(engine, "_timeout", 0.2)
    monkeypatch.setattr(engine._model, "generate_audio", slow)
    with pytest.raises(SpeechError, match=r"took longer than 0\.2 s"):
        engine.speak("one", CLONED, reference, 0)


@pytest.mark.usefixtures("fake_package")
def test_references_that_cannot_be_cloned(reference: Path, tmp_path: Path) -> None:
    engine = PocketTTS("en", "cpu", 9)
    assert engine.voice_fault(CLONED, reference) is None
    assert engine.voice_fault(VOICE, NOWHERE) == ("a reference recording to clone", "none")
    missing = engine.voice_fault(CLONED, NOWHERE)
    assert missing is not None and "no such file" in missing[1]
    soundfile.write(tmp_path / "long.wav", np.zeros(31 * 8000), 8000)
    told = engine.voice_fault(CLONED, tmp_path / "long.wav")
    assert told == ("a reference of at most 30 s", "one of 31.0 s")


def test_the_package_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pocket_tts", None)
    with pytest.raises(AudioTasksError, match=r"pocket-tts cannot be imported .*pip install"):
        Choice("clone", "en", 9).load()


@pytest.mark.usefixtures("fake_package")
def test_weights_that_cannot_clone_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeModel, "has_voice_cloning", False, raising=False)
    with pytest.raises(AudioTasksError, match="weights of 'english' that cannot clone are here: accept the terms"):
        PocketTTS("en", "cpu", 9)


def test_the_package_with_random_weights(reference: Path, tmp_path: Path) -> None:
    """Where Pocket TTS is installed: the real code end to end, and the same bits for the same seed."""
    package = pytest.importorskip("pocket_tts")
    sentencepiece = pytest.importorskip("sentencepiece")
    import yaml

    letters = "abcdefghijklmnopqrstuvwxyz"
    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"one {letters[n % 26 :]} two {letters[: n % 26]} three" for n in range(200)))
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(tmp_path / "tokens"), vocab_size=60, minloglevel=2
    )
    settings = yaml.safe_load((Path(package.__file__).parent / "config" / "english_2m_2026-10.yaml").read_text())
    settings = {name: value for name, value in settings.items() if not name.startswith("weights_path")}
    settings["flow_lm"]["lookup_table"].update(tokenizer_path=str(tmp_path / "tokens.model"), n_bins=60)
    (tmp_path / "random.yaml").write_text(yaml.safe_dump(settings))
    engine = Choice("clone", "en", 60, model=str(tmp_path / "random.yaml")).load()
    assert engine.voice_fault(CLONED, reference) is None
    spoken = [engine.speak("one two three", CLONED, reference, seed)[0] for seed in (1, 1, 2)]
    assert np.array_equal(spoken[0], spoken[1]) and not np.array_equal(spoken[0], spoken[2])
    assert spoken[0].ndim == 1 and np.isfinite(spoken[0]).all() and spoken[0].any()


def test_the_fake_is_as_the_package_is() -> None:
    """Where Pocket TTS is installed, the names and parameters that the engine uses are there."""
    package = pytest.importorskip("pocket_tts")
    for name in ("load_model", "get_state_for_audio_prompt", "generate_audio"):
        real = list(inspect.signature(getattr(package.TTSModel, name)).parameters)
        fake = [p for p in inspect.signature(getattr(FakeModel, name)).parameters if p != "_"]
        assert set(fake) <= set(real), name
    assert isinstance(package.TTSModel.sample_rate, property)
    configs = {path.stem for path in (Path(package.__file__).parent / "config").glob("*.yaml")}
    assert set(pocket.LANGUAGES.values()) <= configs
