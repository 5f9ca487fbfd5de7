"""The meeting point with lmms-eval: the only module that knows the host's internals.

The host finds `register` through the entry point group `lmms_eval.models`. It returns our models and teaches the host's
`TaskManager` our YAML folder, which the host has no entry point for. Written against lmms-eval 0.7.3. Nothing of the
host is imported when this module is: the host imports it while it is itself being imported.
"""

from __future__ import annotations

import fnmatch
import functools
import inspect
import logging
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lmms_audio_tasks import registry
from lmms_audio_tasks.errors import AudioTasksError
from lmms_audio_tasks.judge import live
from lmms_audio_tasks.models import MANIFESTS

logger = logging.getLogger(__name__)

_TAUGHT = "_lmms_audio_tasks"


class _Host:
    """What is remembered of the host within one process."""

    only_ours = False
    """Whether the evaluation in progress needs no task of the host's own."""
    known_tasks: tuple[str, ...] = ()
    """The names in the task index built last."""
    warned = False
    """Whether the one warning about a changed host was given."""


def yaml_folder() -> Path:
    """The folder of our YAML tasks: inside the package in a wheel, beside it in an editable install or a checkout."""
    package = Path(__file__).parent
    inside = package / "task_yamls"
    return inside if inside.is_dir() else package.parent / "task_yamls"


def register() -> list[Any]:
    """The host's entry point: our models' manifests, with our tasks made known on the way.

    Never raises: an exception would make the host drop every plugin's models with a warning of its own.
    """
    try:
        teach_tasks()
        _list_models()
        return manifests()
    except Exception as error:
        logger.warning("lmms-audio-tasks could not register with this lmms-eval: %s", error)
        return []


def manifests() -> list[Any]:
    """Our models as the host's `ModelManifest`s; all are of the chat kind."""
    from lmms_eval.models.registry_v2 import ModelManifest

    return [ModelManifest(model_id=name, chat_class_path=path) for name, path in MANIFESTS]


def register_models() -> None:
    """Make our models known even where another plugin's broken entry point made the host give up on all of them."""
    from lmms_eval import models

    known = set(models.MODEL_REGISTRY_V2.list_canonical_model_ids())
    for manifest in manifests():
        if manifest.model_id not in known:
            models.MODEL_REGISTRY_V2.register_manifest(manifest, overwrite=True)
    _list_models()


def _list_models() -> None:
    """Add our models to the table that `lmms-eval models` prints; it shows this dictionary, not the registry."""
    module = sys.modules.get("lmms_eval.models")
    table = getattr(module, "AVAILABLE_CHAT_TEMPLATE_MODELS", None)
    if isinstance(table, dict):
        for name, path in MANIFESTS:
            table.setdefault(name, path)


def teach_tasks() -> bool:
    """Teach the host's `TaskManager` our folder and our check of the data. Idempotent.

    Returns:
        whether the host knows our tasks now. Where its `TaskManager` has changed, one warning says what to do instead.
    """
    try:
        from lmms_eval.tasks import TaskManager
    except ImportError as error:
        return _cannot_teach(f"lmms_eval.tasks.TaskManager cannot be imported ({error})")
    if getattr(TaskManager, _TAUGHT, False):
        return True
    index: Any = getattr(TaskManager, "initialize_tasks", None)
    load: Any = getattr(TaskManager, "load_task_or_group", None)
    if index is None or not {"include_path", "include_defaults"} <= set(inspect.signature(index).parameters):
        return _cannot_teach("TaskManager.initialize_tasks is not what it was")
    TaskManager.initialize_tasks = _with_our_folder(index)
    if load is not None:
        TaskManager.load_task_or_group = _with_data_checked(load)
    setattr(TaskManager, _TAUGHT, True)
    return True


def _teach_saving() -> None:
    """Have a judge's verdicts saved with the samples; without it they reach the table, but not every log."""
    from lmms_eval.loggers.evaluation_tracker import EvaluationTracker

    save: Any = getattr(EvaluationTracker, "save_results_samples", None)
    if save is not None and not getattr(EvaluationTracker, _TAUGHT, False):
        setattr(EvaluationTracker, _TAUGHT, True)
        EvaluationTracker.save_results_samples = _with_verdicts_saved(save)


def _cannot_teach(why: str) -> bool:
    if not _Host.warned:
        logger.warning(
            "lmms-audio-tasks was written for lmms-eval 0.7.3 and cannot add its tasks to this version: %s. "
            "Name them yourself: --include_path %s",
            why,
            yaml_folder(),
        )
    _Host.warned = True
    return False


def _with_our_folder(index: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    signature = inspect.signature(index)

    @functools.wraps(index)
    def initialize_tasks(*args: Any, **kwargs: Any) -> dict[str, Any]:
        call = signature.bind(*args, **kwargs)
        call.apply_defaults()
        given = call.arguments["include_path"] or []
        folders = [given] if isinstance(given, (str, Path)) else list(given)
        ours = str(yaml_folder())
        call.arguments["include_path"] = folders if ours in folders else [*folders, ours]
        call.arguments["include_defaults"] = call.arguments["include_defaults"] and not _Host.only_ours
        found = index(*call.args, **call.kwargs)
        _Host.known_tasks = tuple(found)
        return found

    return initialize_tasks


def _with_data_checked(load: Callable[..., Any]) -> Callable[..., Any]:
    """Check the data of our tasks before the host loads them: it would retry a fault five times and hide its text."""

    @functools.wraps(load)
    def load_task_or_group(self: Any, task_list: Any = None, *args: Any, **kwargs: Any) -> Any:
        names = [task_list] if isinstance(task_list, str) else task_list or []
        registry.validate(name for name in names if isinstance(name, str))
        live.check()
        _teach_saving()  # only now: the tracker's module is heavy, and no evaluation saves before it has loaded tasks
        return load(self, task_list, *args, **kwargs)

    return load_task_or_group


def _with_verdicts_saved(save: Callable[..., None]) -> Callable[..., None]:
    """Put a judge's verdicts into the samples, which with several ranks are copies, and into a file beside them."""

    @functools.wraps(save)
    def save_results_samples(self: Any, task_name: str, samples: Any) -> None:
        judged = live.apply(samples) if registry.is_ours(task_name) else []
        save(self, task_name, samples)
        if judged and self.output_path:
            folder = Path(self.output_path) / self.general_config_tracker.model_name_sanitized
            live.save(folder / f"{self.date_id}_samples_{task_name}.jsonl", judged)

    return save_results_samples


def run_host(argv: list[str]) -> int:
    """Run the host's command line on `argv` (without the program's name), our tasks and models known.

    Returns:
        0, or 1 where an evaluation failed, or answered some items with an error. The host itself exits with 0 then.
    """
    # The host's `tasks` command never imports its models and so never meets the entry point.
    teach_tasks()
    if argv[:1] in (["tasks"], ["version"]):
        return _call_host(argv)
    register_models()
    if not argv or argv[0] in ("models", "power", "ui", "serve", "mcp", "tui") or "--tui" in argv:
        return _call_host(argv)
    from lmms_eval import __main__ as host_main

    failures: list[str] = []
    original = host_main.cli_evaluate_single
    host_main.cli_evaluate_single = _watched(original, failures)
    try:
        code = _call_host(argv)
    finally:
        host_main.cli_evaluate_single = original
    for failure in failures:
        logger.error("%s", failure)
    return 1 if failures and code == 0 else code


def _call_host(argv: list[str]) -> int:
    from lmms_eval.cli.dispatch import main

    before, sys.argv = sys.argv, [sys.argv[0], *argv]
    try:
        main()
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    finally:
        sys.argv = before
    return 0


def _watched(evaluate: Callable[[Any], Any], failures: list[str]) -> Callable[[Any], Any]:
    """`evaluate` with its failures noted, our own errors told in one line, and the host's tasks read only if needed."""

    @functools.wraps(evaluate)
    def cli_evaluate_single(args: Any) -> Any:
        requested = [name.strip() for name in (args.tasks or "").split(",") if name.strip()]
        if not requested:
            failures.append("no task was named: use --tasks, e.g. --tasks sakura_multi_animal")
            return None, None
        _Host.only_ours = all(map(registry.is_ours, requested))
        try:
            # Before the model is loaded, which the host does first and which may take minutes.
            registry.validate(matching(requested))
            live.check()
            _check_model(args)
            _check_options(args, matching(requested))
            _check_rounds(args, matching(requested))
            results, samples = evaluate(args)
        except AudioTasksError as error:
            failures.append(str(error))
            return None, None
        except Exception as error:
            cause = _tried(error)
            failures.append(_told(cause, requested))
            unknown = isinstance(cause, ValueError) and str(cause).startswith("Tasks not found")
            if unknown or isinstance(cause, AudioTasksError):
                return None, None
            raise
        finally:
            _Host.only_ours = False
        failures.extend(_item_errors(results))
        return results, samples

    return cli_evaluate_single


def _check_model(args: Any) -> None:
    """Refuse a model that the host does not know; it would list all hundred names, twice, below a traceback."""
    from lmms_eval.models import MODEL_REGISTRY_V2

    known = MODEL_REGISTRY_V2.list_model_names()
    if args.model not in known:
        raise registry.UnknownNameError("model", str(args.model), known)


def _check_options(args: Any, names: Iterable[str]) -> None:
    """Refuse options of the host that our tasks would not obey, though its results tell of them as if they had."""
    if not registry.expand(names):
        return
    if getattr(args, "cache_requests", None) == "true":
        raise AudioTasksError(
            "--cache_requests true asks with the prompts and generation settings of an earlier run, of whatever data; "
            "leave it out (our requests are made in no time)"
        )
    if getattr(args, "system_instruction", None) is None:
        return
    from lmms_eval.models import get_model

    # To the simple kind the host gives it as the beginning of the text; a chat model is asked by `doc_to_messages`.
    if not get_model(args.model, getattr(args, "force_simple", False)).is_simple:
        raise AudioTasksError(
            f"--system_instruction does not reach --model {args.model}, which takes whole conversations; audio_lm and "
            "openai_audio have system_prompt= among their --model_args"
        )


def _check_rounds(args: Any, names: Iterable[str]) -> None:
    """Refuse a task of several rounds for a model of the host that cannot play it, before either is loaded.

    The host would answer all other tasks first and lose them when the model raises.
    """
    tasks = registry.tasks()
    played = [name for name in registry.expand(names) if tasks[name].output == "generate_until_multi_round"]
    if not played:
        return
    from lmms_eval.models import get_model

    if not plays_rounds(get_model(args.model, getattr(args, "force_simple", False))):
        twins = [f"{name}_agentic" for name in played if f"{name}_agentic" in tasks]
        hint = f"; any model can play {', '.join(twins)}" if twins else ""
        raise AudioTasksError(f"--model {args.model} cannot play {', '.join(played)}, which has several rounds{hint}")


def plays_rounds(model: type) -> bool:
    """Whether `generate_until_multi_round` of a model class is more than a stub.

    Most models of the host raise `NotImplementedError` there, and some hand the request to `generate_until`, which
    would score the first answer as if it were the last.
    """
    method: Any = inspect.unwrap(model.generate_until_multi_round)  # type: ignore[attr-defined]
    code = getattr(method, "__code__", None)
    if code is None:
        return True
    return "NotImplementedError" not in code.co_names and code.co_names not in ((), ("generate_until",))


def matching(names: Iterable[str]) -> list[str]:
    """Our tasks and groups that `names`, which may hold the wildcards `*` and `?`, match."""
    ours = [*registry.tasks(), *registry.groups()]
    return [ours_name for name in names for ours_name in fnmatch.filter(ours, name)]


def _tried(error: Exception) -> BaseException:
    """What failed last where the host tried several times, as it does with data; what it raises then does not say."""
    last = getattr(error, "last_attempt", None)
    return (last.exception() if last is not None else None) or error


def _told(error: BaseException, requested: list[str]) -> str:
    if isinstance(error, AudioTasksError):
        return str(error)
    if str(error).startswith("Tasks not found"):
        known = {*_Host.known_tasks, *registry.tasks(), *registry.groups()}
        unknown = [name for name in requested if "*" not in name and name not in known]
        if unknown:
            return str(registry.UnknownNameError("task", unknown[0], known))
    return f"the evaluation failed: {type(error).__name__}: {error}"


def _how_to_judge(task: str) -> str:
    """What asks for missing verdicts again; an episode's decide how it goes on, so it has to be played again."""
    info = registry.tasks().get(task)
    if info is not None and info.output != "generate_until":
        return "run it again (criteria in words need --audio_judge llm): nothing that is there is asked for twice"
    return "`lmms-audio-tasks judge LOGDIR --judge hybrid` (or llm) asks for them again"


def _item_errors(results: dict[str, Any] | None) -> list[str]:
    """One line for each task of ours in which the model failed on some items."""
    lines = []
    for task, values in ((results or {}).get("results") or {}).items():
        failed = values.get("error,none")
        unjudged = values.get("unjudged,none")
        if not registry.is_ours(task):
            continue
        if isinstance(failed, int) and failed:
            lines.append(f"{task}: the model failed on {failed} items; they are in the samples, not in the accuracy")
        if isinstance(unjudged, int) and unjudged:
            lines.append(f"{task}: {unjudged} responses are unjudged; {_how_to_judge(task)}")
    return lines
