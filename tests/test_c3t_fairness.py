"""Fairness and robustness: sums worked by hand, and a plain count on simulated systems."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from c3t_data import simulator

from lmms_audio_tasks.c3t.fairness import CONSTRAINTS, METRICS, Prompts, Share, clustered
from lmms_audio_tasks.c3t.groups import CHARACTERISTICS, flips, gap, grid, groups
from lmms_audio_tasks.c3t.outcomes import Outcome, Outcomes, of_record, whole_prompts
from lmms_audio_tasks.c3t.tables import ALL, tables
from lmms_audio_tasks.stats import holm, mcnemar_exact, wilson

made = simulator()


def spoken(instance: str, accents: str, voices: str, text: str = "", task: str = "navigate") -> list[Outcome]:
    """Outcomes of one prompt: `1` right, `0` wrong, `.` missing.

    Accents A, B, C; voices young female, young male, old female, old male; text.
    """
    found = []
    for name, mark in zip("ABC", accents, strict=False):
        if mark != ".":
            found.append(Outcome(task, instance, "accent", mark == "1", name))
    cells = [(age, gender) for age in ("young", "old") for gender in ("female", "male")]
    for (age, gender), mark in zip(cells, voices, strict=False):
        if mark != ".":
            found.append(Outcome(task, instance, "age_gender", mark == "1", "", age, gender))
    if text:
        found.append(Outcome(task, instance, "text", text == "1"))
    return found


def system(*prompts: list[Outcome]) -> Outcomes:
    return Outcomes.of(outcome for prompt in prompts for outcome in prompt)


def every(count: Prompts, constraint: Any = "none") -> dict[str, tuple[int, int]]:
    measures = count.measure(constraint)
    return {name: tuple(getattr(measures, name)) for name in METRICS}


# Right everywhere, and in writing; wrong everywhere, right in writing; one accent differs; one age differs; one gender
# differs; one cell differs.
SIX = [
    spoken("1", "111", "1111", "1"),
    spoken("2", "000", "0000", "1"),
    spoken("3", "110", "1111", "1"),
    spoken("4", "000", "1100", "0"),
    spoken("5", "111", "1010", "1"),
    spoken("6", "000", "0001", "0"),
]


def test_the_paper_by_hand() -> None:
    assert every(Prompts.of(system(*SIX))) == {
        "fairness_overall": (2, 6),  # 1 and 2
        "fairness_age": (4, 6),  # not 4 (old are wrong) and not 6 (old males are right, young ones not)
        "fairness_gender": (4, 6),  # not 5 and not 6
        "fairness_dialect": (5, 6),  # not 3
        "robustness": (1, 6),  # 1; prompt 2 is fair, but right in writing
        "em_textual": (4, 6),
        "em_spoken": (21, 42),  # 7 + 0 + 6 + 2 + 5 + 1
    }


def test_constraints_by_hand() -> None:
    count = Prompts.of(system(*SIX))
    # Some voice is right: 1, 3, 4, 5, 6.
    assert every(count, "ca_speech") == {
        "fairness_overall": (1, 5),
        "fairness_age": (3, 5),
        "fairness_gender": (3, 5),
        "fairness_dialect": (4, 5),
        "robustness": (1, 5),
        "em_textual": (3, 5),
        "em_spoken": (21, 35),
    }
    # And right in writing: 1, 3, 5. As in every published row, textual exact match is 1 and robustness is fairness.
    found = every(count, "ca")
    assert found["em_textual"] == (3, 3)
    assert found["robustness"] == found["fairness_overall"] == (1, 3)
    assert found["em_spoken"] == (18, 21)
    assert count.measure("ca").prompts == 3


def test_missing_voices_are_judged_on_those_present_and_counted() -> None:
    outcomes = system(
        spoken("1", "11.", "1111", "1"),  # fair on what is there
        spoken("2", "11.", ".0..", "1"),  # not fair overall, but in each split
        spoken("3", "111", "....", "1"),  # no voice of a split: not in that split's metrics, nor overall
        spoken("4", "111", "1111"),  # no outcome in writing: not in robustness
        spoken("5", "111", "1111", "1"),
    )
    count = Prompts.of(outcomes)
    assert every(count) == {
        "fairness_overall": (3, 4),
        "fairness_age": (4, 4),
        "fairness_gender": (4, 4),
        "fairness_dialect": (5, 5),
        "robustness": (2, 3),
        "em_textual": (4, 4),
        "em_spoken": (25, 26),  # 6, 3, 3, 7 and 7 voices, of which one is wrong
    }
    assert count.measure().incomplete == 4
    assert count.lacking.tolist() == [1, 4, 4, 1, 0]


def test_a_split_alone_yields_what_it_can() -> None:
    count = Prompts.of(system(spoken("1", "110", ""), spoken("2", "000", "")))
    values = count.measure().values()
    assert values == {
        "fairness_overall": None,
        "fairness_age": None,
        "fairness_gender": None,
        "fairness_dialect": 0.5,
        "robustness": None,
        "em_textual": None,
        "em_spoken": pytest.approx(2 / 6),
    }
    assert count.measure().incomplete == 0  # nothing but the accent split occurs, and that is whole
    assert count.measure("ca").values()["fairness_dialect"] is None


def test_no_outcomes_at_all() -> None:
    found = tables(Outcomes.of([]), "nobody")
    assert [row["constraint"] for row in found["rows"]] == list(CONSTRAINTS)
    assert all(row[name] is None for row in found["rows"] for name in METRICS)
    assert not found["groups"] and not found["gaps"] and not found["flips"]


def test_tasks_are_kept_apart() -> None:
    outcomes = system(spoken("1", "111", "1111", "1"), spoken("1", "110", "1111", "1", task="snarks"))
    count = Prompts.of(outcomes)
    assert outcomes.tasks == ("navigate", "snarks") and len(outcomes.prompts) == 2
    assert count.measure(task="navigate").fairness_overall == Share(1, 1)
    assert count.measure(task="snarks").fairness_overall == Share(0, 1)
    assert count.measure().fairness_overall == Share(1, 2)
    assert count.measure(task="hyperbaton").values()["em_spoken"] is None


# --- against the plain count ---


def simulated(count: int, seed: int, missing: float) -> list[Any]:
    """Prompts of the benchmark's simulator with some outcomes turned and some dropped at random."""
    rng = random.Random(seed)
    prompts = []
    for prompt in made.simulate(count, seed, absent=1):
        outcomes = [
            {voice: right != (rng.random() < 0.03) for voice, right in part.items() if rng.random() >= missing}
            for part in (prompt.accents, prompt.voices)
        ]
        text = None if rng.random() < missing else prompt.text
        prompts.append(replace(prompt, accents=outcomes[0], voices=outcomes[1], text=text))
    return prompts


def outcomes_of(prompts: list[Any]) -> Outcomes:
    found = []
    for prompt in prompts:
        head = (prompt.task, prompt.instance_id)
        found += [Outcome(*head, "accent", right, *voice) for voice, right in prompt.accents.items()]
        found += [Outcome(*head, "age_gender", right, "", *voice) for voice, right in prompt.voices.items()]
        if prompt.text is not None:
            found.append(Outcome(*head, "text", prompt.text))
    return Outcomes.of(found)


@pytest.mark.parametrize("missing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("seed", [1, 2])
def test_tables_equal_a_plain_count(seed: int, missing: float) -> None:
    prompts = simulated(120, seed, missing)
    rows = tables(outcomes_of(prompts), "system")["rows"]
    assert len(rows) == 12 * len(CONSTRAINTS)
    for row in rows:
        expected = made.brute_force(prompts, row["constraint"], row["task"])
        assert {name: row[name] for name in METRICS} == expected, (row["task"], row["constraint"])


def test_what_was_drawn_is_found() -> None:
    prompts = made.simulate(300, seed=3)
    (row,) = (
        row
        for row in tables(outcomes_of(prompts), "system")["rows"]
        if row["task"] == ALL and row["constraint"] == "none"
    )
    assert {name: row[name] for name in METRICS} == pytest.approx(made.drawn_shares(prompts))


def test_groups_equal_a_plain_count() -> None:
    prompts = simulated(80, 5, 0.1)
    whole = [row for row in tables(outcomes_of(prompts), "s")["groups"] if row["task"] == ALL]
    found = {(row["characteristic"], row["group"]): row for row in whole}
    expected: dict[tuple[str, str], list[bool]] = {}
    for prompt in prompts:
        for (accent,), right in prompt.accents.items():
            expected.setdefault(("accent", accent), []).append(right)
        for (age, gender), right in prompt.voices.items():
            for key in (("age", age), ("gender", gender), ("age_gender", f"{age} {gender}")):
                expected.setdefault(key, []).append(right)
    assert {key: (row["right"], row["n"]) for key, row in found.items()} == {
        key: (sum(values), len(values)) for key, values in expected.items()
    }


def test_pairs_equal_a_plain_count() -> None:
    """The largest gap, its sign test over prompts, and Holm's correction over all pairs."""
    prompts = simulated(150, 6, 0.1)
    outcomes = outcomes_of(prompts)
    counts = grid(outcomes, "age", np.ones(len(outcomes.prompts), dtype=np.bool_))
    found = gap(counts, groups(counts, "age"))
    assert found is not None
    wins = {}
    for one, other in combinations(outcomes.ages, 2):
        leads = []
        for prompt in prompts:
            both = [g for g in made.GENDERS if (one, g) in prompt.voices and (other, g) in prompt.voices]
            leads.append(sum(prompt.voices[one, g] - prompt.voices[other, g] for g in both))
        wins[one, other] = (sum(lead > 0 for lead in leads), sum(lead < 0 for lead in leads))
    pair = tuple(sorted((found.best.name, found.worst.name)))
    expected = wins[pair] if found.best.name == pair[0] else wins[pair][::-1]
    assert (found.better, found.worse) == expected
    corrected = dict(zip(wins, holm([mcnemar_exact(*won) for won in wins.values()]), strict=True))
    assert found.p_holm == pytest.approx(corrected[pair]) and found.pairs == 21
    assert found.pairs_significant == sum(p < 0.05 for p in corrected.values())


# --- groups, gaps, flips by hand ---


def test_gap_by_hand() -> None:
    # A is right on 8 of 8; B on 1 of 8: seven prompts on which A does better and none the other way, p = 2 / 2^7; C as
    # A. Of three pairs two have that p, so Holm gives 3 * 2 / 128 for the first.
    prompts = [spoken(str(number), "101", "") for number in range(7)] + [spoken("7", "111", "")]
    counts = grid(system(*prompts), "accent", np.ones(8, dtype=np.bool_))
    members = groups(counts, "accent")
    assert [(group.name, group.right, group.n) for group in members] == [("A", 8, 8), ("B", 1, 8), ("C", 8, 8)]
    assert members[1].interval == wilson(1, 8)
    found = gap(counts, members)
    assert found is not None
    assert (found.best.name, found.worst.name, found.gap) == ("A", "B", pytest.approx(7 / 8))
    assert (found.better, found.worse, found.pairs, found.pairs_significant) == (7, 0, 3, 2)
    assert found.p_value == pytest.approx(2 / 128) and found.p_holm == pytest.approx(6 / 128)


def test_no_gap_between_equals_and_none_with_one_group() -> None:
    counts = grid(system(spoken("1", "11", "")), "accent", np.ones(1, dtype=np.bool_))
    found = gap(counts, groups(counts, "accent"))
    assert found is not None and (found.gap, found.p_holm, found.best.name, found.worst.name) == (0, 1, "A", "B")
    counts = grid(system(spoken("1", "1", "")), "accent", np.ones(1, dtype=np.bool_))
    assert gap(counts, groups(counts, "accent")) is None


def test_the_other_characteristic_is_held_fixed() -> None:
    # Young females are right, old females missing; old males are right, young males not: over males alone old wins.
    counts = grid(system(spoken("1", "", "10.1")), "age", np.ones(1, dtype=np.bool_))
    found = gap(counts, groups(counts, "age"))
    assert found is not None
    assert (found.best.name, found.worst.name, found.better, found.worse) == ("old", "young", 1, 0)


def test_several_voices_of_a_group_widen_the_interval() -> None:
    """Two genders that always agree are one observation a prompt, not two."""
    alike = [spoken(str(number), "", "11.." if number % 2 else "00..") for number in range(40)]
    counts = grid(system(*alike), "age", np.ones(40, dtype=np.bool_))
    (young,) = groups(counts, "age")
    assert (young.right, young.n) == (40, 80)
    low, high = wilson(40, 80)
    assert young.interval.low < low and young.interval.high > high


def test_clusters_of_one_give_wilson() -> None:
    right, asked = np.array([1, 0, 1, 1]), np.array([1, 1, 1, 1])
    assert clustered(right, asked) == wilson(3, 4)
    assert clustered(right[:0], asked[:0]) == (0, 1)


def test_flips_by_hand() -> None:
    outcomes = system(
        spoken("1", "110", ""),
        spoken("2", "100", ""),
        spoken("3", "111", ""),
        spoken("4", "10.", ""),
        spoken("5", "", "1"),
    )
    prompts, accents = flips(outcomes, np.ones(5, dtype=np.bool_))
    assert [(flip.instance_id, flip.majority, flip.right, flip.wrong, flip.by) for flip in prompts] == [
        ("1", "right", 2, 1, ("C",)),
        ("2", "wrong", 1, 2, ("A",)),
        ("4", "tie", 1, 1, ("A",)),
    ]
    assert [(row.accent, row.prompts, row.to_right, row.to_wrong) for row in accents] == [
        ("A", 3, 1, 0),
        ("B", 3, 0, 0),
        ("C", 3, 0, 1),
    ]


def test_every_table_is_plain_and_complete() -> None:
    found = tables(system(*SIX), "system")
    assert json.loads(json.dumps(found)) == found
    assert {row["characteristic"] for row in found["groups"]} == set(CHARACTERISTICS)
    assert len(found["intervals"]) == 2 * len(CONSTRAINTS) * len(METRICS)
    for row in found["intervals"]:
        assert row["ci95_low"] <= row["value"] <= row["ci95_high"]


# --- from records ---


def record(accent: str, verdict: str = "correct", instance: str = "1", variants: int = 3) -> dict[str, Any]:
    groups = {"task_name": "navigate", "instance_id": instance, "split": "accent", "accent": accent}
    return {"verdict": verdict, "groups": {**groups, "age": "", "gender": "", "variants": str(variants)}}


def test_records_become_outcomes() -> None:
    assert of_record(record("A")) == Outcome("navigate", "1", "accent", True, "A")
    assert of_record(record("A", "several")) == Outcome("navigate", "1", "accent", False, "A")
    assert of_record(record("A", "error")) is None
    voiced = record("A")
    voiced["groups"] |= {"split": "age_gender", "age": "teens", "gender": "male"}
    assert of_record(voiced) == Outcome("navigate", "1", "age_gender", True, "", "teens", "male")
    written = record("")
    written["groups"] |= {"split": "text"}
    assert of_record(written) == Outcome("navigate", "1", "text", True)


def test_prompts_that_a_limit_cut_apart_are_left_out() -> None:
    whole = [record(accent) for accent in "ABC"]
    cut = [record("A", instance="2"), record("B", "error", instance="2")]
    short = [record("A", "error", instance="3", variants=1)]  # the data have one voice only, on which the model failed
    assert whole_prompts([*whole, *cut, *short]) == ([*whole, *short], 1)
    assert whole_prompts([]) == ([], 0)
