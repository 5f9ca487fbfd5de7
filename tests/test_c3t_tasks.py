"""C3T's hooks: what a model is given, what is scored and counted, and the shipped demo set behind them."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import soundfile
from c3t_data import make, rows, snapshot

from lmms_audio_tasks import audio, plugin, registry, sources
from lmms_audio_tasks.c3t import KINDS, SPECS, SPLITS, TASK_NAMES, utils
from lmms_audio_tasks.models.chance import Chance
from lmms_audio_tasks.records import error_response
from lmms_audio_tasks.scoring import Proportion

TOOLS = Path(__file__).resolve().parents[1] / "tools"
SHIPPED = sources.DEMO_ROOT / "c3t"


@pytest.fixture(scope="module")
def load() -> Callable[..., Any]:
    """Load one task as the host does, for models of one kind."""
    from lmms_eval.tasks import TaskManager

    assert plugin.teach_tasks()

    def load(name: str, kind: str = "chat", model: str = "chance") -> Any:
        manager = TaskManager("ERROR", include_defaults=False, model_name=model)
        return manager.load_task_or_group([name], kind)[name]

    return load


# --- the benchmark as registered ---


def test_names() -> None:
    assert len(SPECS) == 33 and set(SPECS) <= set(registry.tasks())
    assert registry.expand(["c3t"]) == [f"c3t_{task}_{kind}" for kind in KINDS for task in TASK_NAMES]
    assert registry.expand(["c3t_text"]) == [f"c3t_{task}_text" for task in TASK_NAMES]


@pytest.mark.parametrize("kind", KINDS)
def test_tasks_run_on_demo_data(kind: str, load: Any, use_data: Any) -> None:
    use_data("demo")
    for task_name in TASK_NAMES:
        name = f"c3t_{task_name}_{kind}"
        task = load(name)
        assert task.config.task_alias == f"{name} (demo data)" and task.config.metadata["demo"] is True
        assert task.config.metadata["kind"] == kind and task.config.generation_kwargs["until"] == []
        documents = task.test_docs()
        assert len(documents) == (2 if kind == "text" else 7 if name == "c3t_web_of_lies_age_gender" else 8)
        for number in range(len(documents)):
            values = task.process_results(task.test_docs_no_media()[number], [f"I say {documents[number]['answer']}."])
            assert values["accuracy"]["verdict"] == "correct"
            assert sorted(values) == sorted(task.aggregation())


# --- prompts ---


def test_a_spoken_prompt_is_whole_as_it_is_spoken(load: Any, use_data: Any, tmp_path: Path) -> None:
    use_data(make(tmp_path / "data"))
    task = load("c3t_navigate_accent", model="some_model")
    document = task.test_docs()[0]
    path = str(tmp_path / "data" / "c3t" / rows("navigate", "accent")[0]["audio"])
    assert task.doc_to_text(document) == ""
    assert task.doc_to_messages(document) == [{"role": "user", "content": [{"type": "audio", "url": path}]}]
    assert task.doc_to_target(document) == "Yes"


def test_an_instruction_stands_beside_it_where_one_is_wanted(
    load: Any, use_data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_data(make(tmp_path / "data"))
    told = load("c3t_navigate_accent", model="cascade")
    *_, part = told.doc_to_messages(told.test_docs()[0])[0]["content"]
    assert part == {"type": "text", "text": "Answer the question that was asked in the recording."}
    monkeypatch.setenv(utils.INSTRUCTION_VARIABLE, " Reply. ")
    for model in ("cascade", "some_model"):
        task = load("c3t_navigate_accent", model=model)
        assert task.doc_to_text(task.test_docs()[0]) == "Reply."
        assert task.config.metadata["instruction"] == "Reply."
        assert load("c3t_navigate_text", model=model).doc_to_text(task.test_docs()[0]) == "Reply."
    text = load("c3t_navigate_text")
    assert text.doc_to_text(text.test_docs()[0]) == "Is this navigate number 1? Yes or no?"


def test_a_prompt_in_writing_is_given_as_it_stands(load: Any, use_data: Any, tmp_path: Path) -> None:
    use_data(make(tmp_path / "data"))
    task = load("c3t_navigate_text", model="cascade")
    text = "Is this navigate number 1? Yes or no?"
    assert task.doc_to_messages(task.test_docs()[0]) == [{"role": "user", "content": [{"type": "text", "text": text}]}]
    assert load("c3t_navigate_text", "simple", "x").doc_to_visual(task.test_docs()[0]) == []


def test_recordings_in_tables_reach_every_kind_of_model(
    load: Any, use_data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_AUDIO_TASKS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "arrow"))
    use_data(snapshot(tmp_path / "data"))

    def heard(model: str) -> Any:
        task = load("c3t_navigate_accent", model=model)
        return task.doc_to_messages(task.test_docs()[1])[0]["content"][0]["url"]

    expected, _ = audio.load(heard("cascade"), 16_000)
    assert set(heard("cascade")) == {"bytes", "path"} and not (tmp_path / "cache").exists()
    written = heard("some_model")
    assert Path(written).parent == tmp_path / "cache" / "audio"
    assert np.array_equal(audio.load(written, 16_000)[0], expected)
    assert heard("vllm").startswith("data:audio/wav;base64,")
    task = load("c3t_navigate_accent", "simple", "qwen2_audio")
    (clip,) = task.doc_to_visual(task.test_docs()[1])
    assert clip["sampling_rate"] == 16_000 and np.array_equal(clip["array"], expected)


@pytest.mark.parametrize("recording", [None, {"bytes": None, "path": None}, {"bytes": None, "path": ""}])
def test_a_spoken_prompt_without_its_recording_is_not_asked(recording: Any) -> None:
    """A model that is given nothing would answer all the same."""
    doc = {"item_id": "navigate/accent/1", "split": "accent", "modality": "audio", "prompt": "", "audio": recording}
    for wish in ("recording", "path", "data_uri"):
        with pytest.raises(audio.AudioError, match="navigate/accent/1: expected a recording; found none"):
            utils.doc_to_messages(doc, {"chat_audio": wish})
    with pytest.raises(audio.AudioError, match="navigate/accent/1: expected a recording; found none"):
        utils.doc_to_audio(doc)


def test_chance_picks_from_the_options_of_a_spoken_prompt(load: Any, use_data: Any, tmp_path: Path) -> None:
    use_data(make(tmp_path / "data", prompts=30))
    task = load("c3t_navigate_accent")
    model = Chance()
    model.task_dict["c3t_navigate_accent"] = task.dataset
    task.build_all_requests()
    said = model.generate_until(task.instances)
    # 90 fair draws of two: 45 with a standard deviation of 4.7; the seed is fixed.
    assert set(said) == {"Yes", "No"} and 30 <= said.count("Yes") <= 60


# --- scoring ---

DOC = {
    "item_id": "snarks/accent/7",
    "task": "c3t_snarks_accent",
    "task_name": "snarks",
    "split": "accent",
    "modality": "audio",
    "instance_id": "3",
    "sample_id": "7",
    "accent": "Ayr",
    "age": "",
    "gender": "",
    "variants": 2,
    "text_prompt": "Which is sarcastic?",
    "answers": ["(A)"],
    "options": ["(A)", "(B)"],
    "source": "hub",
    "demo": False,
}


@pytest.mark.parametrize(
    ("response", "verdict", "chosen", "score"),
    [
        ("(a)", "correct", "(A)", 1),
        ("(B)", "wrong", "(B)", 0),
        ("", "none", "", 0),
        ("(A) or (B)", "several", "", 0),
        (error_response("out of\nmemory"), "error", "", None),
    ],
)
def test_process_results(response: str, verdict: str, chosen: str, score: int | None) -> None:
    values = utils.process_results(DOC, [response])
    record = values["accuracy"]
    assert (record["verdict"], record["chosen"], record.get("score")) == (verdict, chosen, score)
    assert record["groups"] == {
        "task_name": "snarks",
        "instance_id": "3",
        "sample_id": "7",
        "split": "accent",
        "modality": "audio",
        "accent": "Ayr",
        "age": "",
        "gender": "",
        "variants": "2",
    }
    assert (record["item_id"], record["golden"], record["cluster"]) == ("snarks/accent/7", "(A)", "snarks/3")
    assert (record["options"], record["prompt"]) == (["(A)", "(B)"], "Which is sarcastic?")
    assert values["dialect_fairness"]["verdict"] == verdict
    assert [name for name in utils.COUNTED if values[name]["counted"]] == [verdict] * (verdict in utils.COUNTED)


def spoken(instance: str, response: str, variants: int = 2, **changes: Any) -> dict[str, Any]:
    return utils.process_results({**DOC, "instance_id": instance, "variants": variants, **changes}, [response])


def test_dialect_fairness_by_hand(caplog: pytest.LogCaptureFixture) -> None:
    values = [
        *(spoken("1", said, accent=accent) for accent, said in (("Ayr", "(A)"), ("Bath", "(A)"))),
        *(spoken("2", said, accent=accent) for accent, said in (("Ayr", "(A)"), ("Bath", "(B)"))),
        spoken("3", "(A)", accent="Ayr"),  # cut apart by --limit: Bath was not asked
        *(spoken("4", said, accent=accent) for accent, said in (("Ayr", "(B)"), ("Bath", error_response("x")))),
    ]
    assert utils.dialect_fairness([value["dialect_fairness"] for value in values]) == pytest.approx(2 / 3)
    assert "snarks: 1 prompt was not asked in all voices; left out of fairness_dialect" in caplog.text
    accuracy = utils.accuracy([value["accuracy"] for value in values])
    assert accuracy is not None and (accuracy.hits, accuracy.total) == (4, 6)
    assert "1 of 7 items failed" in caplog.text
    assert utils.dialect_fairness([]) is None
    assert utils.dialect_fairness([values[4]["dialect_fairness"]]) is None


def test_age_and_gender_fairness_by_hand() -> None:
    said = {("teens", "male"): "(A)", ("teens", "female"): "(B)", ("old", "male"): "(A)", ("old", "female"): "(B)"}
    values = [
        spoken("1", response, 4, split="age_gender", age=age, gender=gender) for (age, gender), response in said.items()
    ]
    assert sorted(values[0]) == ["accuracy", "age_fairness", "error", "gender_fairness", "none", "several"]
    assert utils.age_fairness([value["age_fairness"] for value in values]) == 1.0
    assert utils.gender_fairness([value["gender_fairness"] for value in values]) == 0.0


def test_text_tasks_have_no_fairness() -> None:
    assert sorted(spoken("1", "(A)", 1, split="text")) == ["accuracy", "error", "none", "several"]


def test_pooled_over_all_items() -> None:
    some, more = Proportion(1, 2), Proportion(8, 8)
    together = utils.pooled([some, more], [0, 0])
    assert together == pytest.approx(0.9) and together is not None and (together.hits, together.total) == (9, 10)
    assert copy.deepcopy(together).total == 10
    assert utils.pooled([some, None], [0, 0]) is None
    assert utils.pooled([], []) is None


# --- the demo set ---


@pytest.fixture(scope="module")
def tool() -> Iterator[ModuleType]:
    sys.path.insert(0, str(TOOLS))
    import make_demo_c3t

    yield make_demo_c3t
    sys.path.remove(str(TOOLS))


def test_the_shipped_rows_are_those_of_the_prompts(tool: ModuleType) -> None:
    prompts = json.loads(tool.PROMPTS.read_text("utf-8"))
    assert tuple(prompts) == TASK_NAMES
    for task in TASK_NAMES:
        for split in SPLITS:
            lines = (SHIPPED / task / f"{split}.jsonl").read_text("utf-8").splitlines()
            assert [json.loads(line) for line in lines] == [row for row, _, _ in tool.rows(task, split, prompts[task])]


def test_the_set_is_small() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) < 1_500_000


def test_no_two_voices_are_the_same_recording() -> None:
    files = [path.read_bytes() for path in SHIPPED.rglob("*.ogg")]
    assert len(files) == 175 == len({audio.content_hash(content) for content in files})


def test_ogg_pages_renumbered_are_sound(tool: ModuleType, tmp_path: Path) -> None:
    """The same samples, and the same bytes whatever number libsndfile drew."""
    path = tmp_path / "tone.ogg"
    tone = 0.3 * np.sin(np.arange(16_000) / 10)
    soundfile.write(path, tone, 16_000, format="OGG", subtype="OPUS")
    before = path.read_bytes()
    after = tool.renumbered(before, 7)
    assert tool.renumbered(before, int.from_bytes(before[14:18], "little")) == before
    (tmp_path / "other.ogg").write_bytes(after)
    assert np.array_equal(soundfile.read(path)[0], soundfile.read(tmp_path / "other.ogg")[0])
    assert tool.ogg_opus(tone, "a") == tool.ogg_opus(tone, "a") != tool.ogg_opus(tone, "b")
