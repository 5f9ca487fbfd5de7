"""Our tasks through the host's own loaders: what reaches the server (or the engine, which is a stand-in) is heard.

Only what needs no weights is run here; docs/models.md tells of the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_audio_server import AudioCall, FakeAudio, data_uri, decode, first_option, text_of
from fake_judge_server import Call, Reply

from lmms_audio_tasks import audio, plugin

TASK = "sakura_single_animal"
Evaluate = Callable[..., dict[str, Any]]


@pytest.fixture
def evaluate(use_data: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Evaluate:
    """One of our tasks on the demo data as the host evaluates it; gives the task's numbers."""
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.tasks import TaskManager

    use_data("demo")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("LMMS_AUDIO_TASKS_CACHE", str(tmp_path / "cache"))
    assert plugin.teach_tasks()

    def evaluate(model: str, arguments: str, simple: bool = False) -> dict[str, Any]:
        manager = TaskManager("ERROR", include_defaults=False, model_name=model)
        told = simple_evaluate(
            model=model, model_args=arguments, tasks=[TASK], task_manager=manager, force_simple=simple, batch_size=1
        )
        return told["results"][TASK]

    return evaluate


@pytest.fixture
def recordings(use_data: Callable[[Any], None]) -> dict[str, Any]:
    """By prompt, the recording that belongs to it."""
    from lmms_eval.tasks import TaskManager

    use_data("demo")
    assert plugin.teach_tasks()
    task = TaskManager("ERROR", include_defaults=False).load_task_or_group([TASK], "chat")[TASK]
    found = {document["prompt"]: document["audio"] for document in task.test_docs()}
    assert len(found) == len(task.test_docs()) >= 8
    return found


def assert_heard(samples: np.ndarray, rate: int, recording: Any) -> None:
    """Within two steps of 16 bits, as writers of WAV files round in their own ways."""
    assert rate == 16_000
    wanted = np.rint(audio.load(recording, rate)[0] * 32768)
    assert samples.shape == wanted.shape
    assert np.abs(samples - wanted).max() <= 2


# --- over HTTP ---


@pytest.mark.parametrize(
    ("model", "arguments", "form"),
    [
        ("openai", "model=m,base_url={url}", "audio_url"),
        ("openai_compatible", "model=m,base_url={url}", "audio_url"),
        ("async_openai", "model=m,base_url={url}", "audio_url"),
        # Its server can only be set in the environment.
        ("gpt4o_audio", "model_version=m-audio", "input_audio"),
        ("openai_audio", "model=m,base_url={url}", "input_audio"),
        ("openai_audio", "model=m,base_url={url},audio=audio_url", "audio_url"),
    ],
)
def test_the_server_hears_each_recording_with_its_question(
    evaluate: Evaluate,
    recordings: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    arguments: str,
    form: str,
) -> None:
    with FakeAudio(first_option) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        told = evaluate(model, arguments.format(url=server.url))
    assert told["error,none"] == 0 and told["accuracy,none"] is not None
    assert {call.prompt for call in server.calls} == set(recordings)
    for call in server.calls:
        assert len(list(call.parts(form))) == 1
        ((samples, rate),) = call.clips
        assert_heard(samples, rate, recordings[call.prompt])


def test_openai_of_the_simple_kind_sends_the_file_as_it_lies(evaluate: Evaluate, recordings: dict[str, Any]) -> None:
    """FLAC here, which vLLM decodes and OpenAI's own server refuses (it takes WAV and MP3)."""
    with FakeAudio(first_option) as server:
        evaluate("openai", f"model=m,base_url={server.url}", simple=True)
    assert {call.prompt for call in server.calls} == set(recordings)
    for call in server.calls:
        (part,) = call.parts("input_audio")
        assert part["format"] == "flac"
        assert call.files == [Path(recordings[call.prompt]["path"]).read_bytes()]


@pytest.mark.parametrize(("model", "told_apart"), [("openai", True), ("gpt4o_audio", False)])
def test_what_they_make_of_a_refused_request(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch, model: str, told_apart: bool
) -> None:
    """`openai` writes a text that we know for an error; `gpt4o_audio` an empty answer, which is scored as one."""
    monkeypatch.setattr("lmms_eval.models.simple.gpt4o_audio.NUM_SECONDS_TO_SLEEP", 0)

    def answer(call: Call) -> Reply:
        return Reply("broken", status=400) if "cow" in call.prompt else first_option(call)

    with FakeAudio(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        told = evaluate(model, "model_version=m-audio,max_retries=1")
    refused = len({call.prompt for call in server.calls if "cow" in call.prompt})
    assert refused > 0
    assert (told["error,none"], told["none,none"]) == ((refused, 0) if told_apart else (0, refused))


# --- LiteLLM, a stand-in ---


def test_litellm_is_handed_each_recording_with_its_question(
    evaluate: Evaluate, recordings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[AudioCall] = []

    def completion(messages: Any, **settings: Any) -> Any:
        call = AudioCall(0, text_of(messages[-1]["content"]), {"messages": messages}, {})
        seen.append(call)
        message = SimpleNamespace(content=first_option(call).text)
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], usage=None)

    monkeypatch.setitem(sys.modules, "litellm", SimpleNamespace(completion=completion))
    told = evaluate("litellm", "model=m")
    assert told["error,none"] == 0
    assert {call.prompt for call in seen} == set(recordings)
    for call in seen:
        ((samples, rate),) = call.clips
        assert_heard(samples, rate, recordings[call.prompt])


# --- vLLM's engine, a stand-in ---


class Engine:
    """Takes the place of `vllm.LLM`: keeps the conversations it is given and names the first option."""

    seen: list[AudioCall]

    def __init__(self, **_: Any) -> None:
        self.seen = Engine.seen = []

    def chat(self, sampling_params: Any, messages: Any, chat_template: Any) -> list[Any]:
        calls = [AudioCall(0, text_of(talk[-1]["content"]), {"messages": talk}, {}) for talk in messages]
        self.seen += calls
        return [SimpleNamespace(outputs=[SimpleNamespace(text=first_option(call).text)]) for call in calls]


def test_vllm_is_handed_each_recording_with_its_question(
    evaluate: Evaluate, recordings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("lmms_eval.models.simple.vllm", "lmms_eval.models.chat.vllm"):
        monkeypatch.setattr(f"{module}.LLM", Engine)
        monkeypatch.setattr(f"{module}.SamplingParams", dict)
    told = evaluate("vllm", "model=m,disable_log_stats=True")
    assert told["error,none"] == 0
    assert {call.prompt for call in Engine.seen} == set(recordings)
    for call in Engine.seen:
        ((samples, rate),) = call.clips
        assert_heard(samples, rate, recordings[call.prompt])


# --- Gemini's client, a stand-in ---


class Gemini:
    """Takes the place of `google.genai` and its `types`: keeps the parts it is asked with."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bytes, str]] = []
        self.models = self
        self.types = SimpleNamespace(
            Part=SimpleNamespace(from_text=lambda text: text, from_bytes=lambda data, mime_type: (data, mime_type)),
            Content=lambda role, parts: parts,
            SafetySetting=dict,
            GenerateContentConfig=lambda **settings: SimpleNamespace(**settings),
        )

    def generate_content(self, model: str, contents: Any, config: Any) -> Any:
        parts = contents[0] if isinstance(contents[0], list) else contents
        (text,) = (part for part in parts if isinstance(part, str))
        ((data, kind),) = (part for part in parts if isinstance(part, tuple))
        self.seen.append((text, data, kind))
        return SimpleNamespace(text=first_option(Call(0, text, {}, {})).text, usage_metadata=None)


@pytest.mark.parametrize("simple", [False, True])
def test_gemini_is_handed_each_recording_with_its_question(
    evaluate: Evaluate, recordings: dict[str, Any], monkeypatch: pytest.MonkeyPatch, simple: bool
) -> None:
    """The file as it lies; with `--force_simple`, WAV at 16 kHz."""
    client = Gemini()
    for module in ("lmms_eval.models.simple.gemini", "lmms_eval.models.chat.gemini"):
        monkeypatch.setattr(f"{module}.types", client.types)
    monkeypatch.setattr("lmms_eval.models.simple.gemini.genai", SimpleNamespace(Client=lambda **_: client))
    told = evaluate("gemini", "model=m", simple)
    assert told["error,none"] == 0
    assert {text for text, _, _ in client.seen} == set(recordings)
    for text, data, kind in client.seen:
        if simple:
            assert kind == "audio/wav"
            assert_heard(*decode(data), recordings[text])
        else:
            assert (data, kind) == (Path(recordings[text]["path"]).read_bytes(), "audio/flac")


# --- how each is asked for its form ---


@pytest.mark.parametrize("model", ["openai_compatible_chat", "litellm_chat", "sglang"])
def test_models_that_take_urls_get_a_data_uri(model: str, use_data: Callable[[Any], None]) -> None:
    from lmms_eval.tasks import TaskManager

    use_data("demo")
    assert plugin.teach_tasks()
    manager = TaskManager("ERROR", include_defaults=False, model_name=model)
    task = manager.load_task_or_group([TASK], "chat")[TASK]
    (recording, _) = task.doc_to_messages(task.test_docs()[0])[0]["content"]
    samples, rate = decode(data_uri(recording["url"], "audio/wav"))
    assert_heard(samples, rate, task.test_docs()[0]["audio"])
