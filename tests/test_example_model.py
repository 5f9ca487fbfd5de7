"""The examples: a model class of one's own, installed, found by its entry point and run by the host; and a server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import tone
from test_models_base import requests

from lmms_audio_tasks import audio

pytestmark = pytest.mark.e2e
EXAMPLE = Path(__file__).parents[1] / "examples" / "lmms_audio_example_model"
TASK = "sakura_single_gender"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the example is installed as any package is; nothing is downloaded."""
    folder = tmp_path_factory.mktemp("example")
    # A copy, as setuptools writes beside what it builds.
    source = shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run(
        [*command, "--target", str(folder / "site"), str(source)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def lmms_eval(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "lmms_eval"), *words],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "PYTHONPATH": str(site)},
    )


def records(out: Path) -> list[dict[str, Any]]:
    (path,) = out.rglob("*_samples_*.jsonl")
    return [json.loads(line)["accuracy"] for line in path.read_text("utf-8").splitlines()]


def test_the_example_runs_on_one_of_our_tasks(installed: Path, tmp_path: Path) -> None:
    words = ["--audio_data", "demo", "--tasks", TASK, "--model", "pitch", "--log_samples"]
    arguments = f"threshold=150,cache_dir={tmp_path / 'cache'}"
    done = lmms_eval(installed, *words, "--model_args", arguments, "--output_path", str(tmp_path / "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    found = records(tmp_path / "out")
    assert {record["response"] for record in found} == {
        "The voice is low, so male.",
        "The voice is high, so female.",
    }, "it hears the recordings"
    assert {record["verdict"] for record in found} <= {"correct", "wrong"}
    (kept,) = (tmp_path / "cache" / "answers").glob("*/*.jsonl")
    assert len(kept.read_text("utf-8").splitlines()) == len(found)


def test_a_mistyped_argument_is_told(installed: Path) -> None:
    done = lmms_eval(
        installed, "--audio_data", "demo", "--tasks", TASK, "--model", "pitch", "--model_args", "treshold=1"
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].endswith("pitch has no argument 'treshold'; did you mean threshold?")


def test_the_example_hears_a_pitch() -> None:
    """The same sum on a tone of 100 Hz and one of 220 Hz, without installing anything."""
    import numpy as np

    sys.path.insert(0, str(EXAMPLE))
    try:
        from lmms_audio_example_model.model import Pitch

        from lmms_audio_tasks.models.messages import Part, Prompt, Turn
    finally:
        sys.path.remove(str(EXAMPLE))
    answers = []
    for frequency in (100, 220):
        tone = np.sin(2 * np.pi * frequency * np.arange(16_000) / 16_000).astype(np.float32)
        wav = audio.encode_wav(tone, 16_000)
        answers.append(Pitch(device="cpu")._hear(Prompt((Turn("user", (Part("audio", wav),)),))))
    assert answers == ["The voice is low, so male.", "The voice is high, so female."]


def test_the_docs_show_the_example_as_it_is() -> None:
    docs = (EXAMPLE.parents[1] / "docs" / "models.md").read_text("utf-8")
    package = EXAMPLE / "lmms_audio_example_model"
    model, register = ((package / name).read_text("utf-8") for name in ("model.py", "__init__.py"))
    assert f"```python\n{model[model.index('from collections') :]}```" in docs
    assert f"```python\n{register[register.index('def register') :]}```" in docs


# --- the server for models with an environment of their own ---


@pytest.fixture
def server() -> Iterator[str]:
    command = [sys.executable, str(EXAMPLE.parent / "chat_completions_server.py"), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def test_the_example_server_gets_turns_recordings_and_pictures(server: str, tmp_path: Path) -> None:
    from lmms_audio_tasks.models.openai_audio import OpenAIAudio

    clips = [tone(tmp_path / f"{seconds}.wav", seconds) for seconds in (0.25, 1.5)]
    picture = b"\x89PNG" + bytes(96)
    content = [{"type": "audio", "url": str(clip)} for clip in clips] + [{"type": "text", "text": "what?"}]
    model = OpenAIAudio(model="mine", base_url=server, device="cpu", resume=False, max_retries=0)
    answers = model.generate_until(
        requests(
            model, [content, "hello", [content[1], {"type": "image", "url": picture}, {"type": "text", "text": "and?"}]]
        )
    )
    assert answers == [
        "I heard 0.25 s and 1.50 s and read 'what?'.",
        "I heard nothing and read 'hello'.",
        "I heard 1.50 s and a picture of 100 bytes and read 'and?'.",
    ]


def test_the_example_server_tells_faults(server: str) -> None:
    from lmms_audio_tasks.models.openai_audio import OpenAIAudio

    # It is not asked again for what it cannot take.
    model = OpenAIAudio(model="mine", base_url=server, device="cpu", resume=False, max_retries=99, audio="audio_url")
    wav = audio.encode_wav([0.5] * 100, 16_000)
    content = [{"type": "audio", "url": {"bytes": wav}}]
    first, second = model.generate_until(requests(model, ["hello", content]))
    assert first.startswith("I heard nothing")
    assert second.endswith("status 400: ValueError: a part of type audio_url is not supported")
