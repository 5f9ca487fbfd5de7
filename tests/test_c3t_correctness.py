"""The containment rule: the case table, and what must hold for any answer and any options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_audio_tasks.c3t import TASK_NAMES
from lmms_audio_tasks.c3t.correctness import judge

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "c3t_correctness.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['task']}: {case['response'][:30]}" for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    assert judge(case["response"], case["answers"], case["options"]).verdict == case["verdict"], case["why"]


def test_every_task_has_right_and_other_cases() -> None:
    for task in TASK_NAMES:
        verdicts = {case["verdict"] for case in CASES if case["task"] == task}
        assert "correct" in verdicts and len(verdicts) > 1, task


def test_what_was_chosen_is_told_as_the_data_spell_it() -> None:
    assert judge("it is (b)", ["(B)"], ["(A)", "(B)"]).chosen == "(B)"
    assert judge("it is (a)", ["(B)"], ["(A)", "(B)"]).chosen == "(A)"
    assert judge("(a) (b)", ["(B)"], ["(A)", "(B)"]).chosen == ""
    assert judge("seven", ["7"], []).chosen == ""


def test_the_outcome_is_binary_save_for_errors() -> None:
    assert judge("yes", ["Yes"], ["Yes", "No"]).right is True
    assert judge("perhaps", ["Yes"], ["Yes", "No"]).right is False
    assert judge("yes and no", ["Yes"], ["Yes", "No"]).right is False
    assert judge("[lmms_audio_tasks error] x", ["Yes"], ["Yes", "No"]).right is None


WORDS = st.text("abc", min_size=1, max_size=3)


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, min_size=2, max_size=5, unique=True))
def test_single_words_are_sets_of_words(said: list[str], options: list[str]) -> None:
    """Where options are single words, containment is membership in the response's words."""
    verdict = judge(" ".join(said), [options[0]], options).verdict
    right, others = options[0] in said, set(options[1:]) & set(said)
    assert (verdict == "correct") == (right and not others)
    assert (verdict == "several") == (bool(others) and (right or len(others) > 1))
    assert (verdict == "wrong") == (not right and len(others) == 1)


@given(st.text(max_size=40), st.text(min_size=1, max_size=8))
def test_any_text_gets_a_verdict(said: str, answer: str) -> None:
    assert judge(said, [answer], []).verdict in ("correct", "wrong", "none", "error")


PHRASES = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(" ".join)


@given(st.lists(st.sampled_from("abc"), max_size=9), st.lists(PHRASES, min_size=2, max_size=5, unique=True))
def test_of_options_within_options_the_longer_one_counts(said: list[str], options: list[str]) -> None:
    """Against each place looked at by itself: an option is named where it is no part of a longer one that is there."""
    spans = {
        (option, at, at + len(option.split()))
        for option in options
        for at in range(len(said))
        if said[at : at + len(option.split())] == option.split()
    }
    named = {
        option
        for option, start, end in spans
        if not any(first <= start and end <= last and last - first > end - start for _, first, last in spans)
    }
    verdict = judge(" ".join(said), [options[0]], options).verdict
    assert (verdict == "correct") == (named == {options[0]})
    assert (verdict == "several") == (len(named) > 1)


@pytest.mark.parametrize(
    ("response", "verdict"),
    [
        ("<think>The argument seems valid so far", "none"),  # cut off before it answered
        ("<think>Is it valid, or invalid?</think>\nvalid", "correct"),
        ("Valid? No, its second step fails.</think> invalid", "wrong"),
        ("<THINK>\ninvalid\n</THINK>\n\nvalid", "correct"),
        ("<valid>", "correct"),
    ],
)
def test_thinking_is_no_answer(response: str, verdict: str) -> None:
    assert judge(response, ["valid"], ["valid", "invalid"]).verdict == verdict


def test_a_model_that_repeats_itself_is_read() -> None:
    """Looking from each place at each other one would take minutes."""
    said = "not plausible " * 100_000
    assert judge(said, ["plausible"], ["plausible", "not plausible"]).verdict == "wrong"
    assert judge(said + "plausible", ["plausible"], ["plausible", "not plausible"]).verdict == "several"
