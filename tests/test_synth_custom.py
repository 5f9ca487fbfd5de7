"""Tasks that are not among C3T's eleven: read, asked by the host, scored and tabled like these."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from c3t_data import clip, make, rows, snapshot, write_jsonl, write_parquet

from lmms_audio_tasks import plugin, registry
from lmms_audio_tasks.c3t import CUSTOM_SPECS, SPECS, TASK_NAMES, data, layout, predictions, table_of
from lmms_audio_tasks.c3t.outcomes import Outcomes, of_record
from lmms_audio_tasks.c3t.tables import tables
from lmms_audio_tasks.cli import main
from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.sources import parse


@pytest.fixture(scope="module")
def load() -> Callable[..., Any]:
    """Load one task as the host does."""
    from lmms_eval.tasks import TaskManager

    assert plugin.teach_tasks()

    def load(name: str, model: str = "chance") -> Any:
        return TaskManager("ERROR", include_defaults=False, model_name=model).load_task_or_group([name], "chat")[name]

    return load


def synthesized(root: Path, tasks: Iterable[str] = ("zebra", "apple"), prompts: int = 2) -> Path:
    """A folder as `synthesize` leaves it; returns `root`."""
    for task in tasks:
        for split in ("accent", "age_gender"):
            write_parquet(root / "c3t" / task / f"{split}-00000-of-00001.parquet", rows(task, split, prompts))
    (root / "c3t" / "synthesized.json").write_text(json.dumps({"tasks": sorted(tasks)}))
    return root


def test_names() -> None:
    assert list(CUSTOM_SPECS) == ["c3t_custom_accent", "c3t_custom_age_gender", "c3t_custom_text"]
    assert registry.expand(["c3t_custom"]) == list(CUSTOM_SPECS)
    assert not set(CUSTOM_SPECS) & set(registry.expand(["c3t"])) and not set(CUSTOM_SPECS) & set(SPECS)
    assert [table_of(name) for name in ("leaderboard_bbh_navigate", "zebra")] == ["navigate", "custom"]


@pytest.mark.parametrize("kind", ["accent", "age_gender", "text"])
def test_all_tasks_of_the_folder_are_asked(kind: str, load: Any, use_data: Any, tmp_path: Path) -> None:
    use_data(synthesized(tmp_path / "data"))
    task = load(f"c3t_custom_{kind}")
    documents = task.test_docs()
    voices = {"accent": 3, "age_gender": 4, "text": 1}[kind]
    asked = [(task, instance) for task in ("apple", "zebra") for instance in ("1", "2") for _ in range(voices)]
    assert [(document["task_name"], document["instance_id"]) for document in documents] == asked
    assert {document["variants"] for document in documents} == {voices}
    assert task.config.metadata["task_name"] == "custom" and task.config.metadata["kind"] == kind
    document = documents[0]
    (turn,) = task.doc_to_messages(document)
    assert turn["content"][0]["type"] == ("text" if kind == "text" else "audio")
    values = task.process_results(task.test_docs_no_media()[0], ["Yes"])
    record = values["accuracy"]
    assert (record["groups"]["task_name"], record["task"]) == ("apple", f"c3t_custom_{kind}")
    assert record["verdict"] == "correct" and record["cluster"] == "apple/1"
    assert sorted(values) == sorted(task.aggregation())


def test_as_many_prompts_of_each_task(load: Any, use_data: Any, tmp_path: Path, monkeypatch: Any) -> None:
    use_data(synthesized(tmp_path / "data"))
    monkeypatch.setenv(data.INSTANCES_VARIABLE, "1")
    documents = load("c3t_custom_text").test_docs()
    assert [(d["task_name"], d["instance_id"]) for d in documents] == [("apple", "1"), ("zebra", "1")]


def test_guessers_pick_from_the_answers_of_the_same_task(load: Any, use_data: Any, tmp_path: Path) -> None:
    root = synthesized(tmp_path / "data", ["apple"])
    content = [{**row, "task_name": "zebra", "answers": ["7"], "options": []} for row in rows("zebra", "accent")]
    write_parquet(root / "c3t" / "zebra" / "accent-00000-of-00001.parquet", content)
    use_data(root)
    choices = {d["task_name"]: d["choices"] for d in load("c3t_custom_accent").test_docs()}
    assert choices == {"apple": ["Yes", "No"], "zebra": ["7"]}


def test_own_tasks_as_json_lines(load: Any, use_data: Any, tmp_path: Path) -> None:
    root = tmp_path / "data"
    content = [row for task in ("zebra", "apple") for row in rows(task, "accent")]
    write_jsonl(root, "custom", "accent", content)
    for number, row in enumerate(content):
        path = root / "c3t" / row["audio"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(clip(number))
    use_data(root)
    assert len(load("c3t_custom_accent").test_docs()) == 12
    write_jsonl(root, "custom", "accent", [*content, rows("navigate", "accent")[0]])
    with pytest.raises(DataError, match="expected rows of custom only; found one of navigate"):
        data.validate("c3t_custom_accent")
    write_jsonl(root, "custom", "accent", [{**content[0], "task_name": 5}])
    with pytest.raises(DataError, match="expected task_name to be a text; found 5"):
        data.validate("c3t_custom_accent")


def test_the_eleven_and_others_keep_apart(load: Any, use_data: Any, tmp_path: Path) -> None:
    root = snapshot(tmp_path / "data", ["navigate"])
    for split in ("accent", "age_gender"):
        write_parquet(root / "c3t" / "apple" / f"{split}-00000-of-00001.parquet", rows("apple", split))
    use_data(root)
    assert {d["task_name"] for d in load("c3t_custom_accent").test_docs()} == {"apple"}
    assert {d["task_name"] for d in load("c3t_navigate_accent").test_docs()} == {"navigate"}


def test_not_on_the_hub_nor_in_every_folder(use_data: Any, tmp_path: Path) -> None:
    use_data("hub")
    with pytest.raises(AudioTasksError, match=r"c3t_custom_text asks tasks of your own: say where .* --audio_data DIR"):
        data.validate("c3t_custom_text")
    use_data("demo")
    with pytest.raises(DataError, match=r"expected custom/accent.jsonl, or parquet files of that split; found only"):
        data.validate("c3t_custom_accent")


def test_an_unknown_task_among_the_eleven_is_still_a_fault(use_data: Any, tmp_path: Path) -> None:
    root = make(tmp_path / "data", ["navigate"])
    content = rows("navigate", "accent")
    write_jsonl(root, "navigate", "accent", [*content, {**content[0], "task_name": "navigation", "sample_id": "x"}])
    use_data(root)
    with pytest.raises(DataError, match="row 7: expected task_name to be one of causal_judgement, "):
        data.validate("c3t_navigate_accent")


@pytest.mark.e2e
def test_through_the_hosts_command_line(tmp_path: Path) -> None:
    """The table by task and accent from a run's samples is what the answers come to, counted by hand."""
    root = synthesized(tmp_path / "data")
    words = ["--audio_data", root, "--tasks", "c3t_custom", "--model", "chance", "--log_samples"]
    done = subprocess.run(
        [Path(sys.executable).parent / "lmms_eval", *words, "--output_path", tmp_path / "logs"],
        env={**os.environ, "HF_DATASETS_CACHE": str(tmp_path / "arrow")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dialect_fairness" in done.stdout and "gender_fairness" in done.stdout
    records = [
        json.loads(line)["accuracy"]
        for path in (tmp_path / "logs").rglob("*_samples_c3t_custom_*.jsonl")
        for line in path.read_text("utf-8").splitlines()
    ]
    assert len(records) == 4 * (3 + 4 + 1)
    found = tables(Outcomes.of(filter(None, map(of_record, records))), "chance")
    for task in ("apple", "zebra"):
        (row,) = (row for row in found["rows"] if (row["task"], row["constraint"]) == (task, "none"))
        spoken = [r["score"] for r in records if r["groups"]["task_name"] == task and r["groups"]["split"] != "text"]
        assert row["em_spoken"] == pytest.approx(sum(spoken) / len(spoken)) and row["prompts"] == 2


# --- check and score ---


def test_check_expects_what_was_synthesized(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = synthesized(tmp_path / "data")
    assert main(["check", "c3t", "--data", str(root), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["faults"] == [] and told["prompts"] == 4
    assert [(s["task"], s["split"], s["rows"], s["recordings"]) for s in told["splits"]] == [
        ("custom", "accent", 12, 12),
        ("custom", "age_gender", 16, 16),
    ]
    (root / "c3t" / "synthesized.json").write_text(json.dumps({"tasks": ["apple", "navigate", "zebra"]}))
    assert main(["check", "c3t", "--data", str(root), "--format", "json"]) == 1
    faults = json.loads(capsys.readouterr().out)["faults"]
    assert [f["expected"].partition(",")[0] for f in faults] == ["navigate/accent.jsonl", "navigate/age_gender.jsonl"]


@pytest.mark.parametrize("eleven", [False, True])
def test_own_tasks_by_hand_are_checked_and_scored(eleven: bool, tmp_path: Path, capsys: Any) -> None:
    """One split is enough, and the eleven are missed only where some are there."""
    root = make(tmp_path / "data", ["navigate"]) if eleven else tmp_path / "data"
    write_jsonl(root, "custom", "accent", rows("zebra", "accent"))
    for number, row in enumerate(rows("zebra", "accent")):
        path = root / "c3t" / row["audio"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(clip(number))
    assert main(["check", "c3t", "--data", str(root), "--format", "json"]) == int(eleven)
    told = json.loads(capsys.readouterr().out)
    assert ("custom", "accent", 6) in [(s["task"], s["split"], s["recordings"]) for s in told["splits"]]
    missing = {fault["expected"].partition("/")[0] for fault in told["faults"]}
    assert missing == ({*TASK_NAMES} - {"navigate"} if eleven else set())
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"task_name": "zebra", "instance_id": "1", "response": "Yes"}))
    assert main(["score", "c3t", str(path), "--data", str(root), "--format", "json"]) == 0
    coverage = json.loads(capsys.readouterr().out)["coverage"]
    assert [e["answered"] for e in coverage if (e["task"], e["split"]) == ("zebra", "text")] == [1]


@pytest.mark.parametrize("text", ["[]", '{"tasks": []}', '{"tasks": [3]}', "{", '{"tasks": ["a"], "splits": ["b"]}'])
def test_a_manifest_at_fault(text: str, tmp_path: Path) -> None:
    root = synthesized(tmp_path / "data")
    (root / "c3t" / "synthesized.json").write_text(text)
    with pytest.raises(DataError, match=r"synthesized\.json"):
        layout.expected(root / "c3t")


def test_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Apple is right throughout, zebra in the accent Ayr only; by hand: one of two prompts a task is fair."""
    root = synthesized(tmp_path / "data", prompts=1)
    lines = [{"task_name": task, "instance_id": "1", "response": "Yes"} for task in ("apple", "zebra")]
    for split in ("accent", "age_gender"):
        for row in [*rows("apple", split, 1), *rows("zebra", split, 1)]:
            right = row["task_name"] == "apple" or (split == "accent" and row["accent"] == "Ayr")
            lines.append({"sample_id": row["sample_id"], "response": "Yes" if right else "No"})
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["score", "c3t", str(path), "--data", str(root), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = {(row["task"], row["constraint"]): row for row in told["rows"]}
    assert found["apple", "none"]["fairness_overall"] == 1 and found["zebra", "none"]["fairness_overall"] == 0
    assert found["all", "none"]["fairness_dialect"] == 0.5
    assert found["all", "none"]["em_spoken"] == pytest.approx(8 / 14)
    accents = {row["group"]: row["accuracy"] for row in told["groups"] if row["task"] == "all"}
    assert (accents["Ayr"], accents["Bath"], accents["teens"]) == (1, 0.5, 0.5)
    assert {(c["task"], c["split"], c["answered"]) for c in told["coverage"]} >= {("apple", "text", 1)}


def test_predictions_for_a_task_that_is_not_there(tmp_path: Path) -> None:
    root = synthesized(tmp_path / "data", ["apple"])
    path = tmp_path / "mine.jsonl"
    path.write_text('{"task_name": "zebra", "instance_id": "1", "response": ""}\n')
    with pytest.raises(DataError, match=r"task_name to be one of causal_judgement, .*, apple; found 'zebra'"):
        predictions.score_file(path, parse(str(root)))
