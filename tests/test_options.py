from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_audio_tasks._options.forms import word_forms
from lmms_audio_tasks._options.text import fold, strip_echo, strip_thinking, undress
from lmms_audio_tasks.options import (
    Match,
    Option,
    OptionError,
    match_response,
    parse_answer,
    parse_options,
    split_instruction,
)

CASES = Path(__file__).parent / "data"
SHARED = Path(__file__).parents[1].parent / "shared" / "data"
KINDS = {"one", "none", "several", "undecided"}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def outcome(match: Match) -> tuple[str, str | None]:
    return match.kind, match.option.letter.lower() if match.option else None


# --- parsing --------------------------------------------------------------------------------------------------------
PARSE = rows(CASES / "parse_cases.jsonl")


@pytest.mark.parametrize("case", [row for row in PARSE if "texts" in row], ids=lambda case: case["why"])
def test_instruction(case: dict[str, Any]) -> None:
    question, options = split_instruction(case["instruction"])
    assert question == case["question"]
    assert [option.text for option in options] == case["texts"]
    assert "".join(option.letter for option in options) == "abcdefghijklmnopqrstuvwxyz"[: len(options)]
    assert parse_options(case["instruction"]) == options


@pytest.mark.parametrize(
    "case", [row for row in PARSE if "instruction" in row and "error" in row], ids=lambda c: c["why"]
)
def test_instruction_error(case: dict[str, Any]) -> None:
    with pytest.raises(OptionError) as caught:
        split_instruction(case["instruction"])
    assert case["error"] in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("case", [row for row in PARSE if "answer" in row], ids=lambda case: case["why"])
def test_answer(case: dict[str, Any]) -> None:
    options = parse_options(case["options"])
    if "error" in case:
        with pytest.raises(OptionError) as caught:
            parse_answer(case["answer"], options)
        assert case["error"] in str(caught.value)
    else:
        assert parse_answer(case["answer"], options).letter == case["letter"]


# --- matching: the case table ---------------------------------------------------------------------------------------
MATCH = rows(CASES / "options_cases.jsonl")


def test_case_table_is_varied() -> None:
    kinds = [case["kind"] for case in MATCH]
    assert set(kinds) == KINDS
    assert len({(case["options"], case["response"], case.get("question")) for case in MATCH}) == len(MATCH) >= 400
    assert all((case["kind"] == "one") == (case["letter"] is not None) and case["why"] for case in MATCH)


@pytest.mark.parametrize("case", MATCH, ids=lambda case: f"{case['why']}: {case['response'][:40]!a}")
def test_response(case: dict[str, Any]) -> None:
    match = match_response(case["response"], parse_options(case["options"]), case.get("question"))
    assert outcome(match) == (case["kind"], case["letter"]), match.rule


TO_CURLY = str.maketrans({"'": "’", '"': "”"})
TO_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})


def variants(text: str) -> Iterator[str]:
    yield from (text.upper(), text.lower(), text.swapcase())
    yield from (text.translate(TO_CURLY), text.translate(TO_STRAIGHT))
    yield from (f" \t\n{text} \n", f"\xa0{text}\u3000")


@pytest.mark.parametrize("part", range(8))
def test_cases_hold_in_any_case_quotes_and_blanks(part: int) -> None:
    for case in MATCH[part::8]:
        options = parse_options(case["options"])
        shouted = tuple(Option(o.letter.upper(), o.text.upper().translate(TO_STRAIGHT)) for o in options)
        expected = (case["kind"], case["letter"])
        for response in variants(case["response"]):
            assert outcome(match_response(response, options, case.get("question"))) == expected, response
        assert outcome(match_response(case["response"], shouted, case.get("question"))) == expected


# --- matching: properties -------------------------------------------------------------------------------------------
LISTS = [
    parse_options(text)
    for text in (
        "(a) cat (b) dog (c) pig (d) hen",
        "(a) Male (b) Female",
        "(a) it (b) en (c) de (d) no",
        "(a) C (b) D (c) E (d) A",
        "(a) I can’t wait! (b) It’s “so” dirty; clean it. (c) Don’t go (d) A (big) deal",
        "(a) straße (b) ﬁsh (c) İzmir (d) ǰazz",
        "(a) oak (b) elm (c) ash (d) fir (e) yew (f) pine (g) beech (h) larch (i) birch (j) cedar",
        "(a) Crowing (b) Crow (c) crows (d) hábito",
        "(a) + (b) ♪ (c) ... (d) 3",
    )
]
FRAGMENTS = (CASES / "options_fragments.txt").read_text(encoding="utf-8").split()
FRAGMENTS += ["\n", "\u0345", "\u200b", "\x00", "\ud800", "\u3000", "the answer is", "none of the", "so it is"]
composed = st.lists(
    st.tuples(st.sampled_from(FRAGMENTS), st.sampled_from(("", " ", " "))).map("".join), min_size=1, max_size=10
).map("".join)
responses = st.one_of(composed, st.text(max_size=60))
lists = st.sampled_from(LISTS)
questions = st.sampled_from((None, "Which one of them is it, do you think?"))


@settings(max_examples=400, deadline=None)
@given(responses, lists, questions)
def test_any_text_gets_a_verdict_from_the_list(
    response: str, options: tuple[Option, ...], question: str | None
) -> None:
    match = match_response(response, options, question)
    assert match.kind in KINDS
    assert (match.kind == "one") == (match.option is not None)
    assert match.option is None or match.option in options
    assert match.rule
    assert match == match_response(response, list(options), question)


@settings(max_examples=400, deadline=None)
@given(responses, lists, questions)
def test_case_quotes_and_outer_blanks_do_not_matter(
    response: str, options: tuple[Option, ...], question: str | None
) -> None:
    expected = outcome(match_response(response, options, question))
    for variant in variants(response):
        assert outcome(match_response(variant, options, question)) == expected, variant
    swapped = tuple(Option(o.letter.upper(), o.text.swapcase().translate(TO_STRAIGHT)) for o in options)
    assert outcome(match_response(response, swapped, question)) == expected


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text("bdghklmnorstuvwxyz", min_size=4, max_size=9), min_size=2, max_size=26, unique=True),
    st.data(),
)
def test_listed_option_is_found_in_every_plain_dress(texts: list[str], data: st.DataObject) -> None:
    options = tuple(Option("abcdefghijklmnopqrstuvwxyz"[i], text) for i, text in enumerate(texts))
    option = data.draw(st.sampled_from(options))
    instruction = "Which is it? " + " ".join(f"({o.letter}) {o.text}" for o in options)
    assert parse_options(instruction) == options
    for form in ("({0}) {1}", "({0})", "{0}", "{0}.", "{1}", "{1}.", "The answer is ({0}).", "Answer: ({0}) {1}"):
        match = match_response(form.format(option.letter, option.text), options)
        assert match.option == option, form


UNITS = (
    "(",
    "a ",
    "not ",
    "(a) ",
    "dog ",
    "dog or ",
    "the answer is ",
    '{"answer": "',
    "<think>",
    "</think>",
    "<a",
    "\\",
)
MORE_UNITS = (
    "**a",
    "~~a",
    "~~",
    "a\n",
    "no. ",
    "because dog ",
    "cannot determine whether ",
    '"dog" ',
    "a loud quarrel ",
    "\u0345",
)


@pytest.mark.parametrize("unit", [*UNITS, *MORE_UNITS])
def test_endless_repetition_gets_a_verdict(unit: str) -> None:
    # Each takes a fraction of a second; a pattern that runs away would hang here.
    match = match_response(unit * (200_000 // len(unit)), LISTS[0], "Which animal is it that you hear?")
    assert match.kind in KINDS


# --- matching: single points ----------------------------------------------------------------------------------------
def test_long_response_is_judged_by_head_and_tail() -> None:
    filler = "The recording goes on with more of the same noise. " * 2000
    assert match_response(f"{filler}\nAnswer: (b)", LISTS[0]).rule == "final answer"
    assert outcome(match_response(f"(b) dog\n{filler}", LISTS[0])) == ("one", "b")


@pytest.mark.parametrize(
    ("response", "rule"),
    [
        ("(b) dog", "letter+text"),
        ("b", "letter"),
        ("Dog.", "text"),
        ("two dogs", "form"),
        ("The answer is (b).", "final answer"),
        ("Not a cat, a pig or a hen.", "elimination"),
        ("(a) dog", "conflict"),
        ("cat or dog", "list"),
        ("", "empty"),
        ("<think>dog", "unfinished thinking"),
        ("I cannot tell.", "refusal"),
        ("None of the above", "none of the options"),
        ("not a dog", "negated"),
        ("a horse", "no option"),
        ("a puppy", "near word"),
    ],
)
def test_rule_names_how_it_was_reached(response: str, rule: str) -> None:
    assert match_response(response, LISTS[0]).rule == rule


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        ("Let's go through the options.\n\n(a) cat: A cat makes", "undecided"),
        ("Let me consider each option:\n1. (a) cat - cats purr and meow. The sound I hear", "undecided"),
        ("We need to look at all of the choices. First, (a) cat", "undecided"),
        ("Let's consider each option. It sounds like a cat.", "one"),
        ("Let me go through the options. The answer is (a).", "one"),
    ],
)
def test_the_option_at_which_a_cut_answer_stopped_is_not_its_choice(response: str, kind: str) -> None:
    options = parse_options("Which animal is it? (a) cat (b) pig (c) hen (d) dog")
    assert match_response(response, options, "Which animal is it?").kind == kind


def test_question_may_be_the_whole_instruction() -> None:
    instruction = "Which of these animals do you hear? (a) cat (b) dog"
    question, options = split_instruction(instruction)
    for known in (question, instruction):
        assert match_response(instruction, options, known) == Match("none", None, "echo")
        assert match_response(f"{instruction} (b)", options, known).option == options[1]


def test_options_at_the_edges() -> None:
    assert match_response("(a)", ()).kind == "none"
    assert match_response("(a)", [Option("a", "cat")]).kind == "one"
    with pytest.raises(OptionError, match="at most 26 options, found 27"):
        match_response("(a)", [Option("a", str(number)) for number in range(27)])
    with pytest.raises((TypeError, AttributeError)):
        match_response(None, LISTS[0])  # type: ignore[arg-type]


def test_equal_texts_are_not_told_apart_by_text() -> None:
    options = (Option("a", "cat"), Option("b", "cat"))
    assert match_response("(b)", options).option == options[1]
    assert match_response("(b) cat", options).option == options[1]


# --- parts ----------------------------------------------------------------------------------------------------------
def test_fold_is_blind_to_case_for_every_character() -> None:
    cased = [chr(code) for code in range(0x20000) if chr(code).lower() != chr(code) or chr(code).upper() != chr(code)]
    assert len(cased) > 2500
    for char in cased:
        assert fold(char.upper()) == fold(char.lower()) == fold(char.swapcase()) == fold(char), hex(ord(char))


@pytest.mark.parametrize(
    ("raw", "folded"),
    [
        ("Straße", "strasse"),
        ("ＣＡＦÉ", "cafe"),
        ("don’t", "dont"),
        ("‘dog’", '"dog"'),
        ("“dog”", '"dog"'),
        ("【Ｃ】", "[c]"),
        ("がぎ", "がぎ"),
        ("한국어", "한국어"),
        ("a\u200bb\x00c", "ab c"),
        ("a\r\nb", "a\n\nb"),
    ],
)
def test_fold(raw: str, folded: str) -> None:
    assert fold(raw) == folded


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("<think>a</think>b", "\nb"),
        ("a</think>b", "b"),
        ("b<think>a", "b"),
        ("<think>a", ""),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("<think/>b", "<think/>b"),
        ('<think time="3">a</think>b', "\nb"),
        ("a < b", "a < b"),
    ],
)
def test_strip_thinking(text: str, visible: str) -> None:
    assert strip_thinking(text) == visible


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('{"answer": "c", "why": "not a"}', "answer:  (c)"),
        ('{"why": "a", "answer": "c"', "answer:  (c)"),
        ("\\boxed{\\text{c}}", "answer: {{c}}"),
        ("<answer>c</answer>", "answer: c"),
        ("**c**", "(c)"),
        ("~~a~~ c", "not a;  c"),
        ("user: a or b?\nassistant: c", "c"),
        ("c\nuser: and a?", "c"),
        ("- [x] c", "✓  c"),
    ],
)
def test_undress(text: str, plain: str) -> None:
    assert undress(text).strip() == plain


def test_strip_echo_needs_the_whole_question() -> None:
    question = "Which bird is it?"
    assert strip_echo("which bird is it? an owl", question) == ("\n an owl", True)
    assert strip_echo("which bird? an owl", question) == ("which bird? an owl", False)
    assert strip_echo("why? an owl", "Why?") == ("why? an owl", False)  # too short to be told from speech
    assert strip_echo("an owl", None) == ("an owl", False)


@pytest.mark.parametrize(
    ("text", "sure", "whole"),
    [
        ("dog", "dogs", "doging"),
        ("Hooves", "hoof", "hoovesing"),
        ("purring", "purrs", "purr"),
        ("wagging", "wags", "wag"),
        ("hiding in holes", "hides in holes", None),
        ("angry", "anger", None),
        ("woman", "women", None),
        ("herbivore", "herbivorous", None),
        ("happy", "happiness", "happily"),
    ],
)
def test_word_forms(text: str, sure: str, whole: str | None) -> None:
    forms, alone = word_forms(tuple(text.lower().split()))
    assert tuple(sure.split()) in forms
    assert whole is None or tuple(whole.split()) in alone


# --- the real slice -------------------------------------------------------------------------------------------------
needs_slice = pytest.mark.skipif(not (SHARED / "sakura").is_dir(), reason="the slice of the SAKURA data is not here")
needs_dev = pytest.mark.skipif(
    not (SHARED / "responses_dev.jsonl").is_file(), reason="the labelled sample of responses is not here"
)

TEMPLATES = json.loads((CASES / "options_templates.json").read_text(encoding="utf-8"))


def slice_items() -> Iterator[tuple[str, str, str]]:
    """(track, instruction, answer), single and multi hop."""
    for path in sorted((SHARED / "sakura").glob("*/metadata.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                for hop in ("single", "multi"):
                    yield path.parent.name, row[f"{hop}_instruction"], row[f"{hop}_answer"]


@needs_slice
def test_every_instruction_and_answer_of_the_slice_parses() -> None:
    items = list(slice_items())
    assert len(items) == 192
    for track, instruction, answer in items:
        options = parse_options(instruction)
        assert len(options) == (2 if track == "Gender" else 4)
        assert f"({parse_answer(answer, options).letter})" in answer


def fields(instruction: str, question: str, options: tuple[Option, ...], place: int) -> dict[str, str]:
    """What a template may name: the option at ``place``, another one (x, y), and lists of all of them."""
    option, other = options[place], options[place - 1]
    listed = [f"({o.letter}) {o.text}" for o in options]
    rest = [name for i, name in enumerate(listed) if i != place]
    others = " and ".join([", ".join(rest[:-1]), rest[-1]] if rest[1:] else rest)
    right = [o == option for o in options]
    return {
        **{"l": option.letter, "L": option.letter.upper(), "t": option.text, "T": option.text.upper()},
        **{"x": other.letter, "X": other.letter.upper(), "y": other.text, "I": instruction, "q": question},
        **{"list": " ".join(listed), "commas": ", ".join(listed), "lines": "\n".join(listed)},
        **{"others": others, "rule_out": f"I would rule out {others}."},
        "marks": "\n".join(
            f"{name}: {'Correct' if ok else 'Incorrect'}." for name, ok in zip(listed, right, strict=True)
        ),
        "verdicts": "\n".join(
            f"{name} is {'correct' if ok else 'incorrect'}." for name, ok in zip(listed, right, strict=True)
        ),
        "all_out": f"I would rule out {', '.join(f'({o.letter})' for o in options)}.",
        "none_left": " ".join(f"It is not {name}." for name in listed),
    }


@needs_slice
@pytest.mark.parametrize(("kind", "form"), [(kind, form) for kind, forms in TEMPLATES.items() for form in forms])
def test_templates_on_every_option_of_the_slice(kind: str, form: str) -> None:
    for _, instruction, _ in slice_items():
        question, options = split_instruction(instruction)
        for place, option in enumerate(options):
            if "it" in (option.text, options[place - 1].text):  # also a pronoun: needs more company than templates give
                continue
            response = form.format(**fields(instruction, question, options, place))
            match = match_response(response, options, question)
            assert match.kind == kind, (response, match)
            assert kind != "one" or match.option == option, response


@needs_dev
@pytest.mark.parametrize("with_question", [False, True])
def test_every_label_of_the_sample_is_met(with_question: bool) -> None:
    for row in rows(SHARED / "responses_dev.jsonl"):
        question, options = split_instruction(row["instruction"])
        golden = parse_answer(row["answer"], options)
        match = match_response(row["response"], options, question if with_question else None)
        assert (match.option == golden) == (row["verdict"] == "correct"), (row["kind"], row["response"], match)
        assert match.kind != "undecided", (row["kind"], row["response"])
