"""`audio_lm` with a tiny random model of each family: batches, half precision, long recordings, images."""

from __future__ import annotations

import importlib.util
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from model_requests import RATE, ask, noise, user, write_noise
from tiny_audio_lms import FAMILIES as MAKERS
from tiny_audio_lms import make_voxtral_by_hand

from lmms_audio_tasks.models import families
from lmms_audio_tasks.models.audio_lm import AudioLM
from lmms_audio_tasks.models.families import UNKNOWN, family_of
from lmms_audio_tasks.models.loading import Loaded, Wanted, load
from lmms_audio_tasks.models.windows import limit_of
from lmms_audio_tasks.records import is_error

NEEDS = {"granite_speech": "torchaudio", "gemma3n": "timm", "voxtral": "mistral_common"}
TYPES = {"qwen2_5_omni": "qwen2_5_omni_thinker"}
LEAKING = {"granite_speech", "phi4_multimodal", "gemma3n"}
SECONDS = {
    "qwen2_audio": 30,
    "audioflamingo3": 600,
    # 655 s are 21 whole windows and a part, which the processor drops.
    "glmasr": 630,
    "qwen2_5_omni": 30,
    "gemma3n": 30,
    "gemma4": 30,
    "granite_speech": None,
    "phi4_multimodal": None,
    "voxtral": None,
}
"""How much of a recording each hears."""

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a family's tiny model; skips where what it is made with is not installed."""
    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        package = NEEDS.get(family)
        if package and importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
        if family not in made:
            made[family] = MAKERS[family](tmp_path_factory.mktemp(family))
        return made[family]

    return folder


@pytest.fixture
def make(folders: Callable[[str], Path]) -> Callable[..., AudioLM]:
    def build(family: str, **arguments: Any) -> AudioLM:
        return AudioLM(**{"pretrained": str(folders(family)), "device": "cpu", "resume": False, **arguments})

    return build


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("clips")
    return [
        write_noise(folder / f"clip_{number}.wav", number, seconds)
        for number, seconds in enumerate((0.8, 2.9, 1.7, 0.8, 4.1))
    ]


@pytest.mark.parametrize("family", MAKERS)
def test_batches_of_unequal_lengths_answer_as_one_by_one(
    make: Callable[..., AudioLM], clips: list[Path], family: str
) -> None:
    conversations = [
        *([user(clip, "What is it?")] for clip in clips),
        [user(clips[1], "A question of some more words.")],
        [user(clips[0], "Others, of the same length?")],
        [user("Only text?")],
        [user(clips[0], "and", clips[2], "differ?")],
        [user(clips[0], "One."), {"role": "assistant", "content": "Yes."}, user(clips[2], "And two?")],
    ]
    alone = ask(make(family), conversations)
    assert not any(map(is_error, alone))
    # Models that do not hear would pass the test below.
    assert len(set(alone[: len(clips)])) >= 4
    assert ask(make(family, batch_size=4), conversations) == alone


@pytest.mark.parametrize("family", MAKERS)
def test_very_short_recordings_are_heard_and_alike_beside_others(
    make: Callable[..., AudioLM], clips: list[Path], family: str
) -> None:
    """Handed on as they are, many models fail on them alone, and on some others only beside longer ones."""
    arrays = [{"array": noise(1, 1.0)[:samples], "sampling_rate": RATE} for samples in (1, 400, 900)]
    conversations = [[user(source, "What is it?")] for source in (*arrays, clips[0])]
    alone = ask(make(family), conversations)
    assert not any(map(is_error, alone))
    assert ask(make(family, batch_size=4), conversations) == alone


@pytest.mark.parametrize("family", MAKERS)
def test_self_check_finds_the_families_that_leak(make: Callable[..., AudioLM], family: str) -> None:
    assert make(family)._chat.leaks() is (family in LEAKING)
    assert family_of(TYPES.get(family, family)).leaks is (family in LEAKING)


def test_unknown_families_are_checked_at_load_where_it_matters(
    make: Callable[..., AudioLM], clips: list[Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(families, "FAMILIES", {})
    assert family_of("phi4_multimodal") is UNKNOWN
    conversations = [[user(clip, "What is it?")] for clip in clips]
    with caplog.at_level(logging.WARNING):
        alone = ask(make("phi4_multimodal", batch_size=1), conversations)
        assert "equal length" not in caplog.text
        assert ask(make("phi4_multimodal", batch_size=4), conversations) == alone
        assert "only recordings of equal length share a batch" in caplog.text
    assert not make("qwen2_audio", batch_size=4)._equal_lengths


def test_leaks_would_show_in_the_answers(
    make: Callable[..., AudioLM], clips: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    conversations = [[user(clip, "What is it?")] for clip in clips]
    alone = ask(make("phi4_multimodal"), conversations)
    monkeypatch.setattr(AudioLM, "_must_be_equal", lambda self, leaks: False)
    assert ask(make("phi4_multimodal", batch_size=4), conversations) != alone


@pytest.mark.parametrize("family", MAKERS)
def test_half_precision(make: Callable[..., AudioLM], clips: list[Path], family: str) -> None:
    model = make(family, dtype="bfloat16")
    assert model._chat.dtype == "bfloat16"
    assert not any(map(is_error, ask(model, [[user(clip, "What is it?")] for clip in clips[:2]])))


@pytest.mark.parametrize("family", MAKERS)
def test_what_is_heard_of_a_long_recording(folders: Callable[[str], Path], family: str) -> None:
    loaded = load(Wanted(str(folders(family)), None, "float32", "cpu"))
    limit = limit_of(loaded.processor, loaded.family)
    expected = SECONDS[family]
    assert limit == (None if expected is None else expected * RATE)


@pytest.mark.parametrize("family", MAKERS)
def test_beyond_the_limit_nothing_is_heard(make: Callable[..., AudioLM], family: str) -> None:
    """Why recordings beyond 30 s are an error with some models: these say nothing themselves. Others hear the end."""
    long, other = noise(1, 33), noise(1, 33)
    other[30 * RATE :] = noise(2, 3)
    chat = make(family)._chat
    scores, other_scores = (chat._scores([chat._trial(clip)]) for clip in (long, other))
    assert torch.equal(scores, other_scores) is (SECONDS[family] == 30)


@pytest.mark.parametrize("family", ["qwen2_5_omni", "gemma4", "phi4_multimodal"])
def test_images(make: Callable[..., AudioLM], clips: list[Path], family: str) -> None:
    image = pytest.importorskip("PIL.Image")
    speckled = np.random.default_rng(0).integers(0, 255, (64, 80, 3), dtype=np.uint8)
    pictures = [image.fromarray(speckled), image.new("RGB", (80, 64), "red")]
    conversations = [
        *([user(clips[0], picture, "What is it?")] for picture in pictures),
        [user(pictures[0], "Text and image.")],
        [user(clips[0], "What is it?")],
    ]
    alone = ask(make(family), conversations)
    assert not any(map(is_error, alone))
    assert len(set(alone)) == 4
    assert ask(make(family, batch_size=4), conversations) == alone


def test_image_for_a_model_without_eyes_is_an_error(make: Callable[..., AudioLM], clips: list[Path]) -> None:
    image = pytest.importorskip("PIL.Image").new("RGB", (8, 8))
    seen, heard = ask(make("qwen2_audio"), [[user(clips[0], image, "What?")], [user(clips[0], "What?")]])
    assert is_error(seen) and "the model takes none" in seen
    assert not is_error(heard)


def test_recordings_as_files_for_a_processor_that_takes_no_samples(
    clips: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Voxtral's way, whose own processor needs mistral-common."""
    model, processor = make_voxtral_by_hand()
    monkeypatch.setattr(
        "lmms_audio_tasks.models.audio_lm.load", lambda _: Loaded(model, processor, family_of("voxtral"))
    )
    conversations = [*([user(clip, "What is it?")] for clip in clips), [user("Only text?")]]
    conversations.append([user({"array": noise(9, 31), "sampling_rate": RATE}, "What is it?")])
    make = lambda size: AudioLM(pretrained="voxtral", device="cpu", resume=False, batch_size=size)  # noqa: E731
    alone = ask(make(1), conversations)
    # Longest first.
    assert len(processor.heard[0]) == 31 * RATE
    assert np.abs(processor.heard[0] - noise(9, 31)).max() <= 1 / 32768
    assert len(set(alone)) >= 6 and not any(map(is_error, alone))
    assert ask(make(4), conversations) == alone


def test_adapter_in_the_checkpoint_is_put_on(
    folders: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import transformers

    wanted = Wanted(str(shutil.copytree(folders("phi4_multimodal"), tmp_path / "phi4")), None, "float32", "cpu")
    load(wanted)
    assert "has no adapter in speech-lora" in caplog.text
    done: list[Any] = []
    model_class = transformers.Phi4MultimodalForCausalLM
    monkeypatch.setattr(model_class, "load_adapter", lambda self, *names, **more: done.append((names, more)))
    monkeypatch.setattr(model_class, "set_adapter", lambda self, name: done.append(name))
    (tmp_path / "phi4" / "speech-lora").mkdir()
    (tmp_path / "phi4" / "speech-lora" / "adapter_config.json").write_text("{}")
    load(wanted)
    inside = {"subfolder": "speech-lora", "revision": None}
    assert done == [((wanted.name,), {"adapter_name": "speech-lora", "adapter_kwargs": inside}), "speech-lora"]


def test_only_the_thinker_of_a_speaking_model_is_loaded(folders: Callable[[str], Path]) -> None:
    loaded = load(Wanted(str(folders("qwen2_5_omni")), None, "float32", "cpu"))
    assert type(loaded.model).__name__ == "Qwen2_5OmniThinkerForConditionalGeneration"
    # The weights in the checkpoint, not fresh ones.
    from safetensors.torch import load_file

    saved = load_file(folders("qwen2_5_omni") / "model.safetensors")
    assert torch.equal(loaded.model.lm_head.weight, saved["thinker.lm_head.weight"])
