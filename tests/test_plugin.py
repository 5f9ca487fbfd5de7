"""What the plugin teaches the host, and what happens where the host is not what it was."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lmms_audio_tasks import cli, plugin, registry
from lmms_audio_tasks.errors import AudioTasksError, DataError
from lmms_audio_tasks.models import MANIFESTS


def run_python(code: str, **environment: str) -> str:
    """Run `code` in a fresh interpreter: what the host does at import can only be seen there."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_yaml_folder_holds_every_task_and_group() -> None:
    names = {path.stem for path in plugin.yaml_folder().rglob("*.yaml")}
    assert names == {*registry.tasks(), *registry.groups()}


def test_importing_the_plugin_is_light() -> None:
    heavy = "torch", "transformers", "datasets", "lmms_eval", "scipy", "openai"
    out = run_python(
        "import sys, lmms_audio_tasks.plugin, lmms_audio_tasks.cli\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    assert out.strip() == "[]"


def test_the_entry_point_makes_tasks_and_models_known() -> None:
    out = run_python(
        "import lmms_eval.models as models\n"
        "from lmms_eval.tasks import TaskManager\n"
        "tasks = TaskManager('ERROR', include_defaults=False)\n"
        "print(sorted(tasks.all_tasks))\n"
        "names = models.list_available_models()\n"
        "print([models.get_model(name).__name__ for name in ('chance', 'cascade')])\n"
        "print('chance' in models.AVAILABLE_CHAT_TEMPLATE_MODELS)\n"
    ).splitlines()
    assert out[-3] == str(sorted([*registry.tasks(), *registry.groups()]))
    assert out[-2:] == ["['Chance', 'Cascade']", "True"]


def test_teaching_twice_changes_nothing_more() -> None:
    from lmms_eval.tasks import TaskManager

    assert plugin.teach_tasks()
    before = TaskManager.initialize_tasks
    assert plugin.teach_tasks()
    assert TaskManager.initialize_tasks is before


@pytest.mark.parametrize("change", ["delattr(TaskManager, 'initialize_tasks')", "TaskManager.initialize_tasks = len"])
def test_a_changed_host_gets_one_warning_that_says_what_to_do(change: str) -> None:
    out = run_python(
        "import logging, sys\n"
        "logging.basicConfig(stream=sys.stdout, format='%(levelname)s %(message)s')\n"
        "from lmms_audio_tasks import plugin\n"
        "from lmms_eval.tasks import TaskManager\n"
        f"{change}\n"
        "print('manifests', len(plugin.register()))\n"
    )
    warnings = [line for line in out.splitlines() if line.startswith("WARNING")]
    assert len(warnings) == 1
    assert f"--include_path {plugin.yaml_folder()}" in warnings[0]
    assert f"manifests {len(MANIFESTS)}" in out


def test_a_task_manager_that_is_gone_is_survived(monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    import lmms_eval.tasks

    monkeypatch.setattr(plugin._Host, "warned", False)
    monkeypatch.delattr(lmms_eval.tasks, "TaskManager")
    with caplog.at_level(logging.WARNING):
        assert not plugin.teach_tasks()
    assert "--include_path" in caplog.text


def test_register_never_raises(monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    def broken() -> bool:
        raise RuntimeError("the host has changed")

    monkeypatch.setattr(plugin, "teach_tasks", broken)
    assert plugin.register() == []
    assert "the host has changed" in caplog.text


def test_the_folder_is_added_once_and_user_paths_are_kept() -> None:
    seen: dict[str, Any] = {}

    def index(self: Any, include_path: Any = None, include_defaults: bool = True) -> dict[str, Any]:
        seen.update(include_path=include_path, include_defaults=include_defaults)
        return {"x": 1}

    taught = plugin._with_our_folder(index)
    ours = str(plugin.yaml_folder())
    for given, expected in [
        (None, [ours]),
        ("mine", ["mine", ours]),
        (["a", "b"], ["a", "b", ours]),
        (ours, [ours]),
        ([ours, "a"], [ours, "a"]),
    ]:
        assert taught(None, include_path=given) == {"x": 1}
        assert seen == {"include_path": expected, "include_defaults": True}
    taught(None, None, False)
    assert seen["include_defaults"] is False


def test_data_are_checked_before_the_host_loads(use_data, tmp_path: Path) -> None:
    def load(self: Any, task_list: Any = None, task_type: str = "simple") -> str:
        return f"loaded {task_type}"

    checked = plugin._with_data_checked(load)
    use_data(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no such folder"):
        checked(None, ["sakura_multi_animal"], "chat")
    assert checked(None, ["mmlu", {"task": "sakura_multi_animal"}], "chat") == "loaded chat"


# --- the watch over an evaluation ---


def arguments(tasks: str | None) -> SimpleNamespace:
    return SimpleNamespace(tasks=tasks, model="chance")


def watch(evaluate, tasks: str | None) -> list[str]:
    failures: list[str] = []
    plugin._watched(evaluate, failures)(arguments(tasks))
    return failures


def test_only_where_every_task_is_ours_are_the_defaults_left_out(use_data) -> None:
    use_data("hub")
    seen = []

    def evaluate(args: Any) -> tuple[dict, None]:
        seen.append(plugin._Host.only_ours)
        return {}, None

    for tasks in ("sakura", "sakura_multi_animal,sakura_text", "sakura,mmlu", "sakura_*", "mmlu"):
        assert watch(evaluate, tasks) == []
    assert seen == [True, True, False, False, False]
    assert plugin._Host.only_ours is False


def test_a_failed_evaluation_is_noted_and_still_raised() -> None:
    def evaluate(args: Any) -> Any:
        raise RuntimeError("CUDA is not there")

    failures: list[str] = []
    with pytest.raises(RuntimeError):
        plugin._watched(evaluate, failures)(arguments("mmlu"))
    assert failures == ["the evaluation failed: RuntimeError: CUDA is not there"]


def test_an_unknown_model_is_told_before_anything_is_done() -> None:
    failures: list[str] = []
    wanted = SimpleNamespace(tasks="sakura", model="audio_lmm")
    assert plugin._watched(lambda _: pytest.fail("it was run"), failures)(wanted) == (None, None)
    assert failures[0].startswith("unknown model 'audio_lmm'; did you mean audio_lm")


def test_our_own_errors_are_one_line() -> None:
    def evaluate(args: Any) -> Any:
        raise AudioTasksError("the weights are not there")

    assert watch(evaluate, "mmlu") == ["the weights are not there"]


def test_what_the_host_tried_again_and_again_is_told_by_its_cause() -> None:
    from tenacity import Retrying, stop_after_attempt

    def evaluate(cause: Exception) -> Any:
        def raises() -> None:
            raise cause

        return lambda args: Retrying(stop=stop_after_attempt(2))(raises)

    failures: list[str] = []
    plugin._watched(evaluate(DataError("hub:x", "a prompt", "none", 7)), failures)(arguments("sakura"))
    with pytest.raises(Exception, match="RetryError"):
        plugin._watched(evaluate(OSError("no network")), failures)(arguments("mmlu"))
    assert failures == ["hub:x, row 7: expected a prompt; found none", "the evaluation failed: OSError: no network"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"system_instruction": "Say no."}, "--system_instruction does not reach --model chance"),
        ({"cache_requests": "true"}, "--cache_requests true asks with the prompts and generation settings of an"),
    ],
)
def test_options_that_would_be_told_but_not_obeyed_are_refused(use_data, options: dict[str, str], why: str) -> None:
    def evaluate(args: Any) -> Any:
        raise AssertionError("the model would be loaded")

    use_data("demo")
    failures: list[str] = []
    told = SimpleNamespace(tasks="art_text", model="chance", **options)
    plugin._watched(evaluate, failures)(told)
    assert len(failures) == 1
    assert failures[0].startswith(why)


def test_options_are_left_to_the_hosts_own_tasks_and_simple_models(use_data) -> None:
    use_data("demo")
    given: dict[str, Any] = {"system_instruction": "Say no.", "cache_requests": None}
    cases = (("mmlu", "chance", False), ("art_text", "openai", True))
    for tasks, model, simple in cases:
        failures: list[str] = []
        arguments = SimpleNamespace(tasks=tasks, model=model, force_simple=simple, **given)
        plugin._watched(lambda args: ({}, None), failures)(arguments)
        assert failures == []


def test_data_are_checked_before_the_model_is_loaded(use_data, tmp_path: Path) -> None:
    def evaluate(args: Any) -> Any:
        raise AssertionError("the model would be loaded")

    use_data(tmp_path / "nowhere")
    for tasks in ("sakura_multi_animal", "sakura_multi_a*", "mmlu, sakura"):
        assert "no such folder" in watch(evaluate, tasks)[0]


def test_no_task_and_an_unknown_task(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--tasks" in watch(lambda args: ({}, None), None)[0]

    def evaluate(args: Any) -> Any:
        plugin._Host.known_tasks = ("mmlu", "mmmu_val")
        raise ValueError("Tasks not found: sakura_mutli_animal. Try ...")

    assert watch(evaluate, "sakura_mutli_animal")[0].startswith(
        "unknown task 'sakura_mutli_animal'; did you mean sakura_multi_animal"
    )
    assert watch(evaluate, "sakura,mmmu_vall")[0].startswith("unknown task 'mmmu_vall'; did you mean mmmu_val")


def test_failed_items_make_the_run_fail() -> None:
    results = {
        "results": {"sakura_multi_animal": {"error,none": 3}, "mmlu": {"error,none": 2}, "sakura_text": {" ": " "}}
    }
    assert plugin._item_errors(results) == [
        "sakura_multi_animal: the model failed on 3 items; they are in the samples, not in the accuracy"
    ]
    assert plugin._item_errors(None) == []


# --- the command line ---


@pytest.mark.parametrize(
    ("argv", "rest", "value"),
    [
        (["--tasks", "x"], ["--tasks", "x"], None),
        (["--audio_data", "demo", "--tasks", "x"], ["--tasks", "x"], "demo"),
        (["--tasks", "x", "--audio_data=a=b"], ["--tasks", "x"], "a=b"),
        (["--audio_data", "a", "--audio_data", "b"], [], "b"),
    ],
)
def test_take_option(argv: list[str], rest: list[str], value: str | None) -> None:
    assert cli.take_option(argv, "--audio_data", "") == (rest, value)


def test_a_run_stopped_by_hand_says_so_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(plugin, "run_host", stopped)
    assert cli.lmms_eval(["--tasks", "sakura"]) == 130
    assert capsys.readouterr().err.startswith("error: stopped by hand; answers")
    monkeypatch.setattr(cli.registry, "tasks", lambda: stopped(None))
    assert cli.main(["tasks"]) == 130
    assert capsys.readouterr().err == "error: stopped by hand\n"


@pytest.mark.parametrize("argv", [["--audio_data"], ["--audio_data", "--tasks", "x"]])
def test_audio_data_needs_a_value(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.lmms_eval(argv) == 2
    assert capsys.readouterr().err == "error: --audio_data needs a value: hub, demo or DIR\n"


def test_tasks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tasks"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in [*registry.tasks(), *registry.groups()])
    assert cli.main(["tasks", "sakura_text", "--format", "json"]) == 0
    import json

    told = json.loads(capsys.readouterr().out)
    assert [task["name"] for task in told] == list(registry.groups()["sakura_text"])
    assert set(told[0]) == {"name", "benchmark", "items", "output", "source", "paper"}


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["tasks", "sakura_mutli_animal"], "did you mean sakura_multi_animal"),
        (["check", "sakora"], "unknown benchmark 'sakora'; did you mean sakura?"),
        (["check", "zzz"], "unknown benchmark 'zzz'; known: art, "),
    ],
)
def test_a_mistyped_name_gets_the_nearest(argv: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(argv) == 2
    assert expected in capsys.readouterr().err


def test_a_mistyped_command_gets_the_nearest() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lmms_audio_tasks.cli", "scoer"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "unknown command 'scoer'; did you mean score?" in done.stderr


class Delegating:
    def generate_until_multi_round(self, requests: Any) -> Any:
        return self.generate_until(requests)  # type: ignore[attr-defined]


class Nothing:
    def generate_until_multi_round(self, requests: Any) -> Any:
        pass


def test_models_that_cannot_play_rounds_are_told_from_those_that_can() -> None:
    from lmms_eval.models import get_model

    plugin.register_models()
    assert plugin.plays_rounds(get_model("chance"))
    assert not plugin.plays_rounds(get_model("gpt4o_audio"))
    assert not plugin.plays_rounds(Delegating)
    assert not plugin.plays_rounds(Nothing)
