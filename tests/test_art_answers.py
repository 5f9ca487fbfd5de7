"""The official exact match and the lenient reading of yes/no answers."""

from __future__ import annotations

import json
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_audio_tasks.art.answers import asserted, judge, normalise
from lmms_audio_tasks.records import error_response

CASES = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "art_answer_cases.jsonl").read_text().splitlines()
]
RESPONSES = st.lists(
    st.sampled_from(
        ["yes", "no", "Yes", "NO", " ", ", ", ". ", "not ", "if ", "or ", "**", "\n", '"', "dogs", "é", "/"]
    ),
    max_size=12,
).map("".join)


@pytest.mark.parametrize("case", CASES, ids=[case["why"] for case in CASES])
def test_case_table(case: dict[str, str]) -> None:
    exact = normalise(case["response"])
    assert (exact if exact in ("yes", "no") else "") == case["exact"]
    assert asserted(case["response"]) == case["asserted"]


@pytest.mark.parametrize(
    ("response", "golden", "verdict", "reason", "chosen"),
    [
        ("Yes.", "yes", "correct", "exact", "yes"),
        ("Yes.", "no", "wrong", "exact", "yes"),
        ("Yes, it is", "yes", "wrong", "asserted", "yes"),
        ("Yes, it is", "no", "wrong", "asserted", "yes"),
        ("yes and no", "yes", "several", "no answer", ""),
        ("I cannot tell.", "no", "none", "no answer", ""),
        ("", "no", "none", "no answer", ""),
        (error_response("out of memory"), "no", "error", "[lmms_audio_tasks error] out of memory", ""),
    ],
)
def test_judge(response: str, golden: str, verdict: str, reason: str, chosen: str) -> None:
    assert judge(response, golden) == (verdict, reason, chosen)


def official(text: str) -> str:
    """The rule written out letter by letter."""
    return "".join(letter for letter in text if letter not in string.punctuation).lower().strip()


@given(st.text() | RESPONSES)
def test_correct_is_the_official_rule_and_implies_lenient(response: str) -> None:
    for golden in ("yes", "no"):
        verdict, _, chosen = judge(response, golden)
        assert (verdict == "correct") == (official(response) == golden)
        assert verdict != "correct" or chosen == golden
        assert (chosen == "") == (verdict in ("none", "several"))


@given(RESPONSES)
def test_the_lenient_reading_asserts_only_words_that_are_there(response: str) -> None:
    found = asserted(response)
    words = response.casefold()
    assert found in ("yes", "no", "both", "neither")
    assert found not in ("yes", "both") or "yes" in words
    assert found not in ("no", "both") or "no" in words


@pytest.mark.parametrize("response", ["no dogs " * 2000, '(" ' * 5000 + "yes", "yes " + " " * 20000, 'yes"),' * 3000])
def test_long_responses_are_read(response: str) -> None:
    assert asserted(response) in ("yes", "neither")
