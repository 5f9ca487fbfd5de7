"""A server's refusal names what it refuses to say; in no benchmark is that an answer."""

from __future__ import annotations

import pytest

from lmms_audio_tasks.art import answers
from lmms_audio_tasks.c3t import correctness
from lmms_audio_tasks.have_bench import rules
from lmms_audio_tasks.judge.open_ended import judge_open
from lmms_audio_tasks.records import REFUSED
from lmms_audio_tasks.scoring import judge_options

QUESTION = "Who speaks? (a) a man (b) a woman"


@pytest.mark.parametrize("golden", ["(a) a man", "(b) a woman"])
def test_an_option_that_a_refusal_names_is_not_chosen(golden: str) -> None:
    response = f"{REFUSED} Identifying a woman by voice is against policy"
    assert judge_options(response, QUESTION, golden) == ("none", "refused", "")
    # The same words from the model itself are read as they are.
    assert judge_options("A woman", QUESTION, "(b) a woman")[0] == "correct"


@pytest.mark.parametrize("golden", ["yes", "no"])
def test_art(golden: str) -> None:
    assert answers.judge(f"{REFUSED} No, this cannot be answered", golden) == ("none", "refused", "")


def test_c3t() -> None:
    judged = correctness.judge(f"{REFUSED} I will not say that it is valid", ["valid"], ["valid", "invalid"])
    assert judged == ("none", "refused", "")


def test_have_bench() -> None:
    assert judge_open(f"{REFUSED} Paris", "Paris") == ("none", "refused", "")
    response = f"{REFUSED} (b) a woman"
    for criterion in ("option:b", "regex:woman", "regex:refused"):
        assert rules.decide(criterion, QUESTION, response) == ("rejected", "refused")
