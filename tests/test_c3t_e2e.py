"""C3T through the real host's command line, in processes of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from host_runs import BIN, records, results, run

from lmms_audio_tasks import registry
from lmms_audio_tasks.c3t import KINDS, SPECS
from lmms_audio_tasks.c3t.fairness import METRICS
from lmms_audio_tasks.c3t.outcomes import Outcomes, of_record, whole_prompts
from lmms_audio_tasks.c3t.tables import tables
from lmms_audio_tasks.cli import main
from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models import demo
from lmms_audio_tasks.report.build import build

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def on_demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """All 33 tasks on the demo set with `chance`: the output folder and what was printed."""
    out = tmp_path_factory.mktemp("c3t")
    words = ["--audio_data", "demo", "--tasks", "c3t", "--model", "chance", "--output_path", str(out), "--log_samples"]
    done = run([BIN / "lmms_eval", *words])
    assert done.returncode == 0, done.stdout + done.stderr
    return out, done.stdout


def test_all_tasks_run_and_the_table_equals_a_count_by_hand(on_demo: tuple[Path, str]) -> None:
    out, printed = on_demo
    told = results(out)["results"]
    for name, spec in SPECS.items():
        found = records(out, name)
        assert f"{name} (demo data)" in printed
        assert {record["verdict"] for record in found} <= {"correct", "wrong"}
        assert told[name]["accuracy,none"] == pytest.approx(sum(r["score"] for r in found) / len(found))
        if spec.kind == "accent":
            outcomes: dict[str, set[int]] = {}
            for record in found:
                outcomes.setdefault(record["groups"]["instance_id"], set()).add(record["score"])
            fair = sum(len(scores) == 1 for scores in outcomes.values()) / len(outcomes)
            assert told[name]["dialect_fairness,none"] == pytest.approx(fair)
    for kind in KINDS:
        pooled = [record["score"] for task in registry.expand([f"c3t_{kind}"]) for record in records(out, task)]
        assert told[f"c3t_{kind}"]["accuracy,none"] == pytest.approx(sum(pooled) / len(pooled))


def test_logs_and_prediction_file_give_the_same_tables(
    on_demo: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is joined from the samples files is what `score` makes of the same answers."""
    found = [record for task in SPECS for record in records(on_demo[0], task)]
    whole, cut = whole_prompts(found)
    assert cut == 0 and len(whole) == len(found) == 175 + 22
    joined = tables(Outcomes.of(filter(None, map(of_record, whole))), "chance")
    lines = []
    for record in found:
        groups = record["groups"]
        names = ["task_name", "instance_id"] if groups["split"] == "text" else ["sample_id"]
        lines.append({**{name: groups[name] for name in names}, "response": record["response"]})
    path = tmp_path / "chance.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert main(["score", "c3t", str(path), "--data", "demo", "--format", "json"]) == 0
    scored = json.loads(capsys.readouterr().out)

    def ordered(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(json.dumps(row, sort_keys=True) for row in rows)

    assert joined["rows"] and all(ordered(scored[name]) == ordered(joined[name]) for name in joined)
    # The report joins the same logs.
    tables_told = [table for table in build([on_demo[0]], "c3t").tables if table.name.startswith("table1")]
    told = [row for table in tables_told for row in table.rows]
    by_keys = {(row.keys["task"], row.keys["constraint"]): row for row in told}
    assert len(by_keys) == len(joined["rows"])
    for expected in joined["rows"]:
        row = by_keys[expected["task"], expected["constraint"]]
        assert {name: row.get(name) for name in METRICS} == {name: expected[name] for name in METRICS}
    # One prompt lacks a voice in the data.
    (whole_row,) = (row for row in scored["rows"] if row["task"] == "all" and row["constraint"] == "none")
    assert (whole_row["prompts"], whole_row["incomplete"]) == (22, 1)


def test_a_limit_leaves_out_the_prompt_that_it_cut_apart(tmp_path: Path) -> None:
    words = ["--audio_data", "demo", "--tasks", "c3t_navigate_accent", "--model", "chance", "--limit", "6"]
    done = run([BIN / "lmms_eval", *words, "--output_path", tmp_path, "--log_samples"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "navigate: 1 prompt was not asked in all voices; left out of fairness_dialect" in done.stderr
    found = records(tmp_path, "c3t_navigate_accent")
    assert [record["groups"]["instance_id"] for record in found] == ["1"] * 4 + ["2"] * 2
    fair = len({record["verdict"] for record in found[:4]}) == 1
    assert results(tmp_path)["results"]["c3t_navigate_accent"]["dialect_fairness,none"] == float(fair)


def test_first_prompts_whole_on_two_ranks(on_demo: tuple[Path, str], tmp_path: Path) -> None:
    """Ranks take every other voice; fairness is counted over all of them."""
    tasks = "c3t_navigate_accent,c3t_navigate_age_gender,c3t_navigate_text"
    done = run(
        [BIN / "torchrun", "--nproc_per_node", "2", "--standalone", "--local_addr", "127.0.0.1", "-m", "lmms_eval"]
        + ["--tasks", tasks, "--model", "chance", "--output_path", str(tmp_path), "--log_samples"],
        ACCELERATE_USE_CPU="true",
        LMMS_AUDIO_TASKS_DATA="demo",
        LMMS_AUDIO_TASKS_C3T_INSTANCES="1",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for task, count in zip(tasks.split(","), (4, 4, 1), strict=True):
        whole = {record["item_id"]: record["response"] for record in records(on_demo[0], task)[:count]}
        assert {record["item_id"]: record["response"] for record in records(tmp_path, task)} == whole
    fair = len({record["verdict"] for record in records(on_demo[0], "c3t_navigate_accent")[:4]}) == 1
    assert results(tmp_path)["results"]["c3t_navigate_accent"]["dialect_fairness,none"] == float(fair)


@pytest.mark.weights
def test_a_cascade_answers_spoken_prompts(tmp_path: Path) -> None:
    pytest.importorskip("faster_whisper", reason=f"faster_whisper is not installed: {demo.INSTALL_HINT}")
    try:
        demo.whisper_folder()
    except ModelError as error:
        pytest.skip(str(error))
    tasks = "c3t_navigate_accent,c3t_causal_judgement_text"
    words = ["--audio_data", "demo", "--tasks", tasks, "--model", "cascade", "--model_args", "preset=demo"]
    done = run([BIN / "lmms_eval", *words, "--output_path", str(tmp_path), "--log_samples"])
    assert done.returncode == 0, done.stdout + done.stderr
    for task in tasks.split(","):
        found = records(tmp_path, task)
        assert found and all(record["verdict"] != "error" and record["response"].strip() for record in found)
