"""ART's hooks and sums: what is scored how, and that a group pools its tasks."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

from lmms_audio_tasks.art import utils
from lmms_audio_tasks.art.data import INSTRUCTION
from lmms_audio_tasks.models.chance import Chance
from lmms_audio_tasks.records import error_response
from lmms_audio_tasks.scoring import Proportion

DOC = {
    "item_id": "a_1",
    "task": "art_sound_reasoning",
    "folder": "sound_reasoning",
    "modality": "audio",
    "template_id": "t1",
    "question_id": "q1",
    "prompt": INSTRUCTION,
    "answer": "yes",
    "source": "demo",
    "demo": True,
}


@pytest.mark.parametrize(
    ("response", "verdict", "exact", "lenient", "neither", "yes"),
    [
        ("Yes.", "correct", 1, 1, 0, 1),
        ("no", "wrong", 0, 0, 0, 0),
        ("Yes, it is", "wrong", 0, 1, 0, 1),
        ("No, it is not", "wrong", 0, 0, 0, 0),
        ("yes and no", "several", 0, 0, 1, 0),
        ("", "none", 0, 0, 1, 0),
    ],
)
def test_process_results(response: str, verdict: str, exact: int, lenient: int, neither: int, yes: int) -> None:
    values = utils.process_results(DOC, [response])
    record = values["exact_match"]
    assert (record["verdict"], record["score"]) == (verdict, exact)
    found = [values[name]["score"] for name in ("lenient", "neither", "yes_rate")]
    assert found == [lenient, neither, yes]
    assert values["error"] == {"counted": False}
    assert (record["item_id"], record["benchmark"], record["golden"]) == ("a_1", "art", "yes")
    assert (record["response"], record["prompt"], record["options"]) == (response, INSTRUCTION, [])
    assert record["groups"] == {
        "task": "sound_reasoning",
        "modality": "audio",
        "template_id": "t1",
        "question_id": "q1",
    }


def test_a_failure_has_no_score() -> None:
    values = utils.process_results(DOC, [error_response("out of\nmemory")])
    assert values["exact_match"]["verdict"] == "error"
    assert not [name for name, value in values.items() if "score" in value]
    assert values["error"] == {"counted": True}


def test_aggregations_by_hand(caplog: pytest.LogCaptureFixture) -> None:
    responses = ["yes", "Yes.", "no", "Yes, sure", "", error_response("x")]
    values = [utils.process_results(DOC, [response]) for response in responses]

    def column(name: str) -> list[dict[str, Any]]:
        return [value[name] for value in values]

    assert utils.exact_match(column("exact_match")) == pytest.approx(2 / 5)
    assert "1 of 6 items failed" in caplog.text and "1 of 6 responses are empty" in caplog.text
    assert utils.share(column("lenient")) == pytest.approx(3 / 5)
    assert utils.share(column("neither")) == pytest.approx(1 / 5)
    assert utils.share(column("yes_rate")) == pytest.approx(3 / 5)
    assert utils.failed(column("error")) == 1
    assert utils.exact_match(column("exact_match")[-1:]) is None


def test_a_group_pools_its_items() -> None:
    # 1 of 2, 9 of 10 and, after a failure, 3 of 9 scored items: 13 of 21, where the mean of the three is another.
    shares = [Proportion(1, 2), Proportion(9, 10), Proportion(3, 9)]
    assert utils.pooled(shares, [2, 10, 10]) == pytest.approx(13 / 21)
    assert utils.pooled([Proportion(1, 2), None], [2, 5]) is None
    assert utils.pooled([], []) is None


def test_a_share_is_a_number_and_survives_a_copy() -> None:
    share = Proportion(3, 4)
    assert share == 0.75 and json.dumps({"a": share}) == '{"a": 0.75}' and f"{share:.4f}" == "0.7500"
    for same in (copy.deepcopy(share), pickle.loads(pickle.dumps(share))):
        assert (same, same.hits, same.total) == (0.75, 3, 4)


def test_chance_answers_yes_or_no() -> None:
    from test_models_chance import requests_for

    model = Chance()
    answers = model.generate_until(requests_for(model, [INSTRUCTION] * 200))
    # 200 fair draws: 100 each with a standard deviation of 7.1; the seed is fixed, so this cannot flicker.
    assert set(answers) == {"yes", "no"} and 75 <= answers.count("yes") <= 125
    (slash,) = model.generate_until(requests_for(model, ["Is it raining? Yes/No"]))
    assert slash in ("yes", "no")
    (option,) = model.generate_until(requests_for(model, ["Yes or no? (a) yes (b) no"]))
    assert option in ("(a) yes", "(b) no")
