"""What every model class gets from its base: kept answers, rounds, and failures told apart."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile as sf
from lmms_eval.api.instance import Instance

from lmms_audio_tasks.errors import ModelError
from lmms_audio_tasks.models.base import AudioTasksModel, Item
from lmms_audio_tasks.models.failures import Failure
from lmms_audio_tasks.models.hashes import image_hash
from lmms_audio_tasks.records import is_error

TESTS = Path(__file__).parent


class Echo(AudioTasksModel):
    """Answers with what it was asked, backwards; counts what it was asked."""

    def __init__(self, cache_dir: Any = None, resume: Any = True, version: Any = 1, **unknown: Any) -> None:
        super().__init__("cpu", unknown, resume, cache_dir)
        self.asked: list[str] = []
        self.version = version

    def identity(self) -> Mapping[str, Any]:
        return {"model": "echo", "version": self.version}

    def answer(self, items: Sequence[Item]) -> Iterator[tuple[int, str | Failure]]:
        # Last first, as a model that sorts by length may.
        for index in reversed(range(len(items))):
            prompt = items[index].prompt()
            assert not isinstance(prompt, Failure)
            self.asked.append(prompt.text)
            yield index, Failure("no") if "fail" in prompt.text else prompt.text[::-1]


def requests(model: Any, contents: Sequence[Any], kind: str = "generate_until", **generation: Any) -> list[Instance]:
    model.task_dict["t"] = {"test": [{"content": content} for content in contents]}
    return [
        Instance(
            kind,
            ("", lambda doc: [{"role": "user", "content": doc["content"]}], {**generation}, number, "t", "test"),
            0,
            {"task": "t", "doc_id": number, "repeats": 1},
        )
        for number in range(len(contents))
    ]


def test_answers_are_kept_and_taken_from_there(tmp_path: Path) -> None:
    first = Echo(tmp_path)
    assert first.generate_until(requests(first, ["ab", "cd", "ab"])) == ["ba", "dc", "ba"]
    assert sorted(first.asked) == ["ab", "cd"], "equal prompts are asked once"
    again = Echo(tmp_path)
    assert again.generate_until(requests(again, ["cd", "ef"])) == ["dc", "fe"]
    assert again.asked == ["ef"]


def test_only_failed_items_are_asked_again(tmp_path: Path) -> None:
    first = Echo(tmp_path)
    answers = first.generate_until(requests(first, ["ab", "fail"]))
    assert answers[0] == "ba"
    assert is_error(answers[1])
    again = Echo(tmp_path)
    assert [is_error(answer) for answer in again.generate_until(requests(again, ["ab", "fail"]))] == [False, True]
    assert again.asked == ["fail"]


def test_failures_are_told_in_whole_characters() -> None:
    """A server's words may end in half of one, and the host's samples would end there."""
    assert Failure("status 400: \ud83d\ude00 \ud83d").message == "status 400: \U0001f600 \ufffd"
    assert Failure.of(ValueError("clip_\udcff.wav")).message == "ValueError: clip_\ufffd.wav"


def test_other_settings_and_resume_off_ask_anew(tmp_path: Path) -> None:
    for model in (Echo(tmp_path), Echo(tmp_path, version=2), Echo(tmp_path, resume=False)):
        assert model.generate_until(requests(model, ["ab"])) == ["ba"]
        assert model.asked == ["ab"]
    longer = Echo(tmp_path)
    longer.generate_until(requests(longer, ["ab"], max_new_tokens=9))
    assert longer.asked == ["ab"], "the task's generation arguments are in the key"


def test_other_audio_behind_the_same_path_is_asked_anew(tmp_path: Path) -> None:
    clip = tmp_path / "a.wav"
    content = [{"type": "audio", "url": str(clip)}, {"type": "text", "text": "what?"}]
    asked = []
    for value in (0.1, 0.2, 0.2):
        sf.write(clip, np.full(1600, value, np.float32), 16000)
        model = Echo(tmp_path / "cache")
        model.generate_until(requests(model, [content]))
        asked.append(len(model.asked))
    assert asked == [1, 1, 0]


def test_answers_that_cannot_be_kept_end_the_run_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "answers").write_text("in the way")
    model = Echo(tmp_path)
    with pytest.raises(ModelError, match=r"answers/.* cannot be written: .*; cache_dir= or LMMS_AUDIO_TASKS_CACHE"):
        model.generate_until(requests(model, ["ab"]))
    free = Echo(tmp_path, resume=False)
    assert free.generate_until(requests(free, ["ab"])) == ["ba"]


def test_kept_answers_that_cannot_be_read_end_the_run_in_one_line(tmp_path: Path) -> None:
    first = Echo(tmp_path)
    first.generate_until(requests(first, ["ab"]))
    (folder,) = (tmp_path / "answers").iterdir()
    (folder / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    model = Echo(tmp_path)
    with pytest.raises(ModelError, match=r"gone\.jsonl cannot be read: No such file.*; cache_dir= or LMMS_AUDIO"):
        model.generate_until(requests(model, ["ab"]))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"do_sample": False, "temperature": 0}, ""),
        ({"do_sample": True, "temperature": 0.7}, ""),
        ({"temperature": 0.7}, ""),
        ({"do_sample": False, "temperature": 0.7}, "--gen_kwargs do_sample=true,temperature=0.7"),
        ({"do_sample": True, "temperature": 0}, "--gen_kwargs do_sample=true,temperature=1"),
    ],
)
def test_sampling_that_is_asked_for_in_vain_is_told_once(
    given: dict[str, Any], told: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = Echo(tmp_path)
    for _ in range(2):
        model.generate_until(requests(model, ["ab", "cd"], **given))
    assert [record.getMessage().partition("sampling, ")[2] for record in caplog.records] == [told] * bool(told)


def test_images_are_in_the_key(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    red, blue = (image.new("RGB", (2, 2), colour) for colour in ("red", "blue"))
    red.save(tmp_path / "red.png")
    assert image_hash(red) != image_hash(blue)
    assert image_hash(tmp_path / "red.png") == image_hash((tmp_path / "red.png").read_bytes())


def test_repeats_and_seeds_of_sampled_answers_are_told_apart(tmp_path: Path) -> None:
    import torch

    torch.manual_seed(1)
    model = Echo(tmp_path)
    once = requests(model, ["ab"], temperature=0.7)
    model.generate_until(once * 3)
    assert model.asked == ["ab"] * 3
    again = Echo(tmp_path)
    again.generate_until(requests(again, ["ab"], temperature=0.7) * 3)
    assert again.asked == []
    torch.manual_seed(2)
    again.generate_until(requests(again, ["ab"], temperature=0.7))
    assert again.asked == ["ab"]


def test_a_missing_recording_costs_its_item_alone(tmp_path: Path) -> None:
    model = Echo(tmp_path)
    gone = [{"type": "audio", "url": str(tmp_path / "gone.wav")}]
    answers = model.generate_until(requests(model, ["ab", gone]))
    assert answers[0] == "ba"
    assert is_error(answers[1])
    assert "gone.wav" in answers[1]


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from test_models_base import Echo, requests

class Killed(Echo):
    def answer(self, items):
        for done, found in enumerate(super().answer(items)):
            if done == 5:
                os.kill(os.getpid(), signal.SIGKILL)
            yield found

model = Killed(sys.argv[2])
model.generate_until(requests(model, [f"text {n}" for n in range(9)]))
"""


def test_a_killed_run_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(TESTS), str(tmp_path)], check=False, timeout=600)
    assert done.returncode == -9
    model = Echo(tmp_path)
    texts = [f"text {number}" for number in range(9)]
    assert model.generate_until(requests(model, texts)) == [text[::-1] for text in texts]
    # Five were answered, from the last on.
    assert sorted(model.asked) == texts[:4]


# ------------------------------------------------------------------------------------------------------------- rounds


def counting(rounds: int, seen: list[Any]) -> Any:
    """A task's hook that ends after so many rounds and hands back one line for all of them."""

    def doc_to_messages(
        doc: Any, round_idx: int = 0, previous_output: Any = None, previous_round_info: Any = None
    ) -> Any:
        if not round_idx:
            return [{"role": "user", "content": doc["content"]}]
        seen.append((doc["content"], round_idx, tuple(previous_output), previous_round_info))
        info = (previous_round_info or 0) + 1
        if round_idx == rounds or is_error(previous_output[-1]):
            return None, True, ["|".join(previous_output)], info
        return [{"role": "user", "content": f"{doc['content']}{round_idx}"}], False, previous_output, info

    return doc_to_messages


def episodes(model: Any, contents: Sequence[str], hook: Any) -> list[Instance]:
    made = requests(model, contents, "generate_until_multi_round")
    for instance in made:
        context, _, *rest = instance.arguments
        instance.arguments = (context, hook, *rest)
    return made


def test_rounds_are_played_side_by_side_to_their_end(tmp_path: Path) -> None:
    model, seen = Echo(tmp_path), []
    hook = counting(2, seen)
    assert model.generate_until_multi_round(episodes(model, ["a", "b"], hook)) == [["a|1a"], ["b|1b"]]
    assert sorted(model.asked[:2]) == ["a", "b"], "the first round of all documents comes first"
    assert sorted(seen) == [
        ("a", 1, ("a",), None),
        ("a", 2, ("a", "1a"), 1),
        ("b", 1, ("b",), None),
        ("b", 2, ("b", "1b"), 1),
    ]
    again = Echo(tmp_path)
    assert again.generate_until_multi_round(episodes(again, ["a", "b"], counting(2, []))) == [["a|1a"], ["b|1b"]]
    assert again.asked == [], "every round's answer is kept"


def test_a_failed_round_ends_its_document_alone(tmp_path: Path) -> None:
    model = Echo(tmp_path)
    (first,), (second,) = model.generate_until_multi_round(episodes(model, ["a", "fail"], counting(2, [])))
    assert first == "a|1a"
    assert is_error(second)


def test_a_hook_that_raises_ends_its_document_alone(tmp_path: Path) -> None:
    inner = counting(1, [])

    def hook(doc: Any, **later: Any) -> Any:
        if later and doc["content"] == "b":
            raise KeyError("judge")
        return inner(doc, **later)

    model = Echo(tmp_path)
    first, second = model.generate_until_multi_round(episodes(model, ["a", "b"], hook))
    assert first == ["a"]
    assert second[0] == "b"
    assert is_error(second[-1])


def test_a_hook_of_another_protocol_is_refused_by_name(tmp_path: Path) -> None:
    model = Echo(tmp_path)
    with pytest.raises(ModelError, match=r"all 2 items failed.*must return"):
        model.generate_until_multi_round(
            episodes(model, ["a", "b"], lambda doc, **later: [] if later else [{"role": "user", "content": "x"}])
        )
