"""Every task: metadata complete, hooks resolve, prompts as they should be, demo data run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import track_rows

from lmms_audio_tasks import plugin, prompts, registry, scoring
from lmms_audio_tasks.audio import AudioError
from lmms_audio_tasks.records import VERDICTS, error_response
from lmms_audio_tasks.sakura import SPECS, utils

TASKS = [name for name in registry.tasks() if not name.startswith("c3t_custom_")]
"""All but those for a user's own sets, of which none is shipped; they have tests of their own."""
ITEM_TASKS = [name for name in TASKS if not name.startswith("have_interaction")]
"""Those whose documents are questions; episodes along task graphs have tests of their own."""
FEWEST = {"sakura": 8, "art": 4, "c3t": 2, "have_bench": 4}
"""How many demo items each task of a benchmark has at least."""


def has_audio(task: str) -> bool:
    """Whether the model hears something: a caption or a text stands for the audio, save in ART's `_text` tasks."""
    return not task.endswith(("_text", "_asr")) or task.startswith("art_")


def record_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The record among the values of `process_results`, whatever its metric is called."""
    (record,) = (value for value in values.values() if isinstance(value, dict) and "golden" in value)
    return record


@pytest.fixture(scope="module")
def load() -> Callable[..., Any]:
    """Load a task or group as the host does, for models of one kind."""
    from lmms_eval.tasks import TaskManager

    assert plugin.teach_tasks()

    def load(name: str, kind: str = "chat", model: str = "chance") -> Any:
        manager = TaskManager("ERROR", include_defaults=False, model_name=model)
        return manager.load_task_or_group([name], kind)

    return load


@pytest.mark.parametrize("name", ITEM_TASKS)
def test_task_on_demo_data(name: str, load, use_data) -> None:
    use_data("demo")
    task = load(name)[name]
    settings = task.config
    benchmark = registry.tasks()[name].benchmark
    assert settings.metadata["version"] == import_module(f"lmms_audio_tasks.{benchmark}.config").VERSION
    assert settings.metadata["demo"] is True and settings.metadata["data_source"] == "demo"
    assert settings.task_alias == f"{name} (demo data)"
    assert settings.generation_kwargs["until"] == []
    assert settings.generation_kwargs["do_sample"] is False
    documents = task.test_docs()
    assert len(documents) >= FEWEST[benchmark]
    for number in range(len(documents)):
        document, scored = documents[number], task.test_docs_no_media()[number]
        values = task.process_results(scored, [document["answer"]])
        record = record_of(values)
        assert record["verdict"] == "correct", (document["prompt"], document["answer"], record["reason"])
        assert (record["task"], record["demo"], record["source"]) == (name, True, "demo")
        if record["options"]:
            assert record["golden"] in record["options"] or record["chosen"] in record["options"]
        else:
            assert record["chosen"] == record["golden"]
        messages = task.doc_to_messages(document)
        media = [part for part in messages[0]["content"] if part["type"] != "text"]
        texts = messages[0]["content"][len(media) :]
        # A spoken prompt (C3T) comes without any text.
        assert texts == ([{"type": "text", "text": document["prompt"]}] if document["prompt"] else [])
        pictures = ["image"] * (benchmark == "have_bench")
        assert [part["type"] for part in media] == pictures + ["audio"] * has_audio(name)
        assert all(Path(part["url"]).is_file() for part in media)
    assert len({document["item_id"] for document in documents}) == len(documents)


@pytest.mark.parametrize("name", TASKS)
def test_every_metric_has_an_aggregation_and_no_name_holds_another(name: str, load, use_data) -> None:
    use_data("demo")
    task = load(name)[name]
    metrics = list(task.aggregation())
    values = task.process_results(task.test_docs_no_media()[0], ["nothing of the kind"])
    assert sorted(values) == sorted(metrics)
    assert not [(a, b) for a in metrics for b in metrics if a != b and a in b]


@pytest.mark.parametrize("name", [name for name in registry.groups() if name != "c3t_custom"])
def test_group_members_are_those_listed(name: str, load, use_data) -> None:
    use_data("demo")

    def names(tree: Any) -> list[str]:
        found = []
        for key, value in tree.items():
            found += names(value) if isinstance(value, dict) else [key]
        return found

    assert sorted(names(load(name))) == sorted(registry.expand([name]))


def test_prompts(load, use_data, make_sakura) -> None:
    """The instruction as it stands, and a caption of one line before it in the text tasks."""
    use_data(make_sakura(2))
    captions = {
        "gender": "The gender of the speaker is male.",
        "language": "The language spoken in the speech is German.",
        "emotion": "The emotion of the speaker is angry.",
        "animal": "The animal making the sound is dog.",
    }
    for name, spec in SPECS.items():
        task = load(name)[name]
        row = track_rows(spec.folder, 2)[0]
        expected = row[f"{spec.hop}_instruction"]
        if spec.text:
            expected = f"{captions[spec.track]}\n{expected}"
        assert task.doc_to_text(task.test_docs()[0]) == expected
        assert task.doc_to_target(task.test_docs()[0]) == row[f"{spec.hop}_answer"]


def test_real_data_are_not_marked_as_demo(load, use_data, make_sakura) -> None:
    root = make_sakura(2)
    use_data(root)
    task = load("sakura_multi_animal")["sakura_multi_animal"]
    assert task.config.task_alias == "sakura_multi_animal"
    assert task.config.metadata["data_source"] == str(root)
    record = task.process_results(task.test_docs_no_media()[0], ["(a)"])["accuracy"]
    assert (record["source"], record["demo"]) == (str(root), False)


def test_simple_models_get_an_array(load, use_data) -> None:
    use_data("demo")
    task = load("sakura_single_animal", "simple", "qwen2_audio")["sakura_single_animal"]
    (clip,) = task.doc_to_visual(task.test_docs()[0])
    assert clip["sampling_rate"] == 16_000
    assert clip["array"].dtype == np.float32 and clip["array"].ndim == 1 and len(clip["array"]) > 1000
    text = load("sakura_multi_animal_text", "simple", "qwen2_audio")["sakura_multi_animal_text"]
    assert text.doc_to_visual(text.test_docs()[0]) == []


@pytest.mark.parametrize("model", ["vllm", "openai", "async_openai", "sglang"])
def test_servers_get_a_data_uri(load, use_data, model: str) -> None:
    use_data("demo")
    task = load("sakura_single_animal", "chat", model)["sakura_single_animal"]
    part = task.doc_to_messages(task.test_docs()[0])[0]["content"][0]
    assert part["url"].startswith("data:audio/wav;base64,")


def test_audio_of_the_hub_becomes_a_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_sakura) -> None:
    monkeypatch.setenv("LMMS_AUDIO_TASKS_CACHE", str(tmp_path / "cache"))
    clip = (make_sakura(1) / "sakura" / "Animal" / "audio" / "clip_0.wav").read_bytes()
    recording = {"bytes": clip, "path": "clip_0.wav"}
    first, second = prompts.local_path(recording), prompts.local_path(recording)
    assert first == second and Path(first).read_bytes() == clip
    assert prompts.chat_audio(recording, {}) == first


@pytest.mark.parametrize("hook", [utils.doc_to_audio, utils.doc_to_messages])
def test_a_question_about_a_recording_that_is_not_there_is_not_asked(hook: Callable[..., Any]) -> None:
    doc = {"item_id": "animal/multi/1", "modality": "audio", "prompt": "Which? (a) dog (b) cat", "audio": None}
    with pytest.raises(AudioError, match="animal/multi/1: expected a recording; found none"):
        hook(doc)
    text = {**doc, "modality": "text", "prompt": "Dog. Which? (a) dog (b) cat"}
    assert hook(text) in ([], prompts.user_turn([], text["prompt"]))


def test_unknown_wishes_are_refused() -> None:
    with pytest.raises(ValueError, match="simple_audio must be array or path"):
        prompts.simple_audio({"path": "x", "bytes": None}, {"simple_audio": "video"})
    with pytest.raises(ValueError, match="chat_audio must be path, data_uri or array"):
        prompts.chat_audio({"path": "x", "bytes": None}, {"chat_audio": "video"})


# --- scoring ---

DOC = {
    "item_id": "animal/1.wav",
    "task": "sakura_multi_animal",
    "track": "animal",
    "hop": "multi",
    "modality": "audio",
    "attribute": "cat",
    "prompt": "Which part? (a) fins (b) horns (c) claws (d) shell",
    "answer": "(c) claws",
    "source": "hub",
    "demo": False,
}


@pytest.mark.parametrize(
    ("response", "verdict", "chosen", "score"),
    [
        ("(c) claws", "correct", "(c) claws", 1),
        ("(a)", "wrong", "(a) fins", 0),
        ("", "none", "", 0),
        ("(a) or (b)", "several", "", 0),
        (error_response("out of\nmemory"), "error", "", None),
    ],
)
def test_process_results(response: str, verdict: str, chosen: str, score: int | None) -> None:
    values = utils.process_results(DOC, [response])
    record = values["accuracy"]
    assert (record["verdict"], record["chosen"], record.get("score")) == (verdict, chosen, score)
    assert record["groups"] == {"track": "animal", "hop": "multi", "modality": "audio", "attribute": "cat"}
    assert record["options"] == ["(a) fins", "(b) horns", "(c) claws", "(d) shell"]
    assert (record["response"], record["golden"], record["item_id"]) == (response, "(c) claws", "animal/1.wav")
    assert [name for name in scoring.COUNTED if values[name]["counted"]] == [verdict] * (verdict in scoring.COUNTED)


def test_aggregations_by_hand(caplog) -> None:
    responses = ["c", "c", "a", "", "(a) (b) both", error_response("x")]
    values = [utils.process_results(DOC, [response]) for response in responses]
    records = [value["accuracy"] for value in values]
    assert scoring.accuracy(records) == pytest.approx(2 / 5)
    assert "1 of 6 items failed" in caplog.text and "1 of 6 responses are empty" in caplog.text
    assert scoring.count([value["none"] for value in values]) == 1
    assert scoring.count([value["error"] for value in values]) == 1
    assert scoring.accuracy(records[-1:]) is None
    assert scoring.macro_mean([0.5, 1.0], [10, 1000]) == 0.75
    assert scoring.macro_mean([0.5, None], [10, 10]) is None
    assert scoring.macro_mean([], []) is None


def test_every_verdict_of_the_matcher_is_known() -> None:
    for response in ("c", "a", "", "(a) or (b)", "I am not sure", "claw-like things"):
        assert utils.process_results(DOC, [response])["accuracy"]["verdict"] in VERDICTS
