"""Statistics against the literature's worked examples, sums by hand, brute force and simulation."""

from __future__ import annotations

import csv
import itertools
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_audio_tasks import stats
from lmms_audio_tasks.stats import Interval

PUBLISHED = Path(__file__).parents[1].parent / "shared" / "published"
LEVELS = st.floats(0.5, 0.999)


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int]:
    n = draw(st.integers(1, 3000))
    return draw(st.integers(0, n)), n


def paired(both: int, only_a: int, only_b: int, neither: int) -> tuple[list[bool], list[bool]]:
    a = [True] * (both + only_a) + [False] * (only_b + neither)
    b = [True] * both + [False] * only_a + [True] * only_b + [False] * neither
    return a, b


def test_importing_is_cheap() -> None:
    code = "import sys, lmms_audio_tasks.stats; sys.exit('scipy' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- one proportion ---


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [  # Newcombe (1998), table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_on_newcombes_examples(k: int, n: int, low: float, high: float) -> None:
    assert stats.wilson(k, n) == pytest.approx((low, high), abs=5e-5)
    assert stats.wilson(n - k, n) == pytest.approx((1 - high, 1 - low), abs=5e-5)


@given(counts(), LEVELS)
def test_wilson_holds_the_proportion(case: tuple[int, int], level: float) -> None:
    k, n = case
    low, high = stats.wilson(k, n, level)
    assert 0 <= low <= k / n <= high <= 1
    assert (low == 0) == (k == 0)
    assert (high == 1) == (k == n)
    inner = stats.wilson(k, n, level / 2)
    assert low <= inner.low <= inner.high <= high


def test_wilson_solves_the_score_equation() -> None:
    """The limits are the rates from which k / n lies exactly z standard errors away."""
    for k, n in ((3, 10), (140, 500), (499, 500)):
        for limit in stats.wilson(k, n):
            assert abs(k / n - limit) == pytest.approx(1.959964 * math.sqrt(limit * (1 - limit) / n), rel=1e-6)


def test_nothing_counted_says_nothing() -> None:
    assert stats.wilson(0, 0) == Interval(0, 1)


@pytest.mark.parametrize(("k", "n", "level"), [(-1, 5, 0.95), (6, 5, 0.95), (0, -1, 0.95), (1, 5, 0), (1, 5, 1)])
def test_wilson_refuses(k: int, n: int, level: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        stats.wilson(k, n, level)


@pytest.mark.parametrize(
    ("p", "n", "scale", "expected"),
    [  # 1.96 * sqrt(0.25 / 500) = 1.96 * 0.0223607; 1.96 * sqrt(0.1 * 0.9 / 100) = 1.96 * 0.03
        (0.5, 500, 1, 0.0438269),
        (50, 500, 100, 4.38269),
        (0.1, 100, 1, 0.0588),
        (0, 500, 1, 0),
        (100, 500, 100, 0),
    ],
)
def test_paper_half_width_by_hand(p: float, n: int, scale: float, expected: float) -> None:
    assert stats.paper_half_width(p, n, scale) == pytest.approx(expected, rel=3e-6)


@pytest.mark.parametrize(("p", "n"), [(-0.1, 500), (50, 500), (0.5, 0)])
def test_paper_half_width_refuses(p: float, n: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        stats.paper_half_width(p, n)


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published tables are not on this machine")
def test_every_published_half_width_is_reproduced() -> None:
    rows = [
        row
        for name in ("sakura_table2.csv", "sakura_table3.csv")
        for row in csv.DictReader((PUBLISHED / name).open(encoding="utf-8"))
        if row["ci95"]
    ]
    assert len(rows) == 196
    for row in rows:
        assert f"{stats.paper_half_width(float(row['accuracy']), 500, scale=100):.1f}" == row["ci95"], row


@pytest.mark.parametrize(
    ("n", "p", "level", "expected"),
    [  # two tosses: 0, 1 or 2 heads with 1/4, 1/2, 1/4
        (2, 0.5, 0.4, (0.5, 0.5)),
        (2, 0.5, 0.6, (0.0, 1.0)),
        (10, 0.0, 0.95, (0.0, 0.0)),
        (10, 1.0, 0.95, (1.0, 1.0)),
    ],
)
def test_binomial_interval_by_hand(n: int, p: float, level: float, expected: tuple[float, float]) -> None:
    assert stats.binomial_interval(n, p, level) == expected


@given(st.integers(1, 60), st.floats(0.01, 0.99), st.floats(0.5, 0.99))
@settings(deadline=None)
def test_binomial_interval_is_the_tightest_with_such_tails(n: int, p: float, level: float) -> None:
    interval = stats.binomial_interval(n, p, level)
    low, high = round(interval.low * n), round(interval.high * n)
    mass = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    tail = (1 - level) / 2
    assert sum(mass[:low]) <= tail + 1e-9
    assert sum(mass[high + 1 :]) <= tail + 1e-9
    assert sum(mass[: low + 1]) >= tail - 1e-9
    assert sum(mass[high:]) >= tail - 1e-9


@pytest.mark.parametrize(("n", "p", "level"), [(0, 0.5, 0.95), (5, 1.1, 0.95), (5, 0.5, 1.0)])
def test_binomial_interval_refuses(n: int, p: float, level: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        stats.binomial_interval(n, p, level)


# --- clusters and groups ---


def test_cluster_interval_by_hand() -> None:
    """Residual sums 1, -1, 0: se = sqrt(3/2 * 2) / 6. Design effect (3/36) * 5 / 0.25 = 5/3, effective size 3.6.

    t quantiles 2.570582 (5) and 4.302653 (2) leave 3.6 * 0.356938 = 1.284977, where Wilson's half-width at 0.5 is
    1.959964 * sqrt(0.25 / 1.284977 + 3.841459 / (4 * 1.651166)) / (1 + 3.841459 / 1.284977) = 0.43282.
    """
    found = stats.cluster_interval([1, 1, 0, 0, 1, 0], ["a", "a", "b", "b", "c", "c"])
    assert (found.mean, found.n, found.clusters) == (0.5, 6, 3)
    assert found.se == pytest.approx(math.sqrt(3) / 6)
    assert found.interval == pytest.approx((0.5 - 0.43282, 0.5 + 0.43282), abs=1e-4)


@given(counts().filter(lambda case: case[1] > 1))
@settings(deadline=None)
def test_clusters_of_one_give_wilson(case: tuple[int, int]) -> None:
    k, n = case
    found = stats.cluster_interval([1] * k + [0] * (n - k), range(n))
    assert found.interval == pytest.approx(stats.wilson(k, n), abs=1e-9)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=40), LEVELS)
@settings(deadline=None)
def test_cluster_interval_holds_the_mean(rows: list[tuple[bool, int]], level: float) -> None:
    values, clusters = [value for value, _ in rows], [cluster for _, cluster in rows]
    found = stats.cluster_interval(values, clusters, level)
    assert found.mean is not None
    assert 0 <= found.interval.low <= found.mean <= found.interval.high <= 1
    assert found.interval.high > found.interval.low


def test_cluster_interval_at_its_edges() -> None:
    assert stats.cluster_interval([], []) == stats.ClusterMean(None, None, 0, 0, Interval(0, 1))
    assert stats.cluster_interval([1, 0], ["a", "a"]) == stats.ClusterMean(0.5, None, 2, 1, Interval(0, 1))
    # Right throughout: as good as 50 items at most, not as 200.
    whole = stats.cluster_interval([1] * 200, [i // 4 for i in range(200)])
    assert (whole.mean, whole.se, whole.interval.high) == (1, 0, 1)
    assert whole.interval.low == pytest.approx(stats.wilson(50, 50).low, abs=0.01)
    assert whole.interval.low < stats.wilson(50, 50).low


def test_clusters_that_happen_to_balance_do_not_narrow_the_interval() -> None:
    """One right and one wrong in every cluster: se is 0, and Wilson's interval of all 60 still the least."""
    found = stats.cluster_interval([1, 0] * 30, [i // 2 for i in range(60)])
    assert found.se == 0
    assert found.interval.low < stats.wilson(30, 60).low
    assert found.interval.high > stats.wilson(30, 60).high


def test_copies_of_items_add_no_knowledge() -> None:
    once = stats.cluster_interval([1, 0, 1, 1, 0, 1] * 20, range(120))
    four_times = stats.cluster_interval([1, 0, 1, 1, 0, 1] * 80, list(range(120)) * 4)
    assert four_times.interval == pytest.approx(once.interval, abs=0.005)


@pytest.mark.parametrize(("values", "clusters"), [([1], []), ([2], ["a"]), ([0.5], ["a"])])
def test_cluster_interval_refuses(values: Sequence[int], clusters: Sequence[str]) -> None:
    with pytest.raises(ValueError, match="expected"):
        stats.cluster_interval(values, clusters)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [  # Newcombe (1998), Statistics in Medicine 17:873-890, method 10, difference of independent proportions
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
    ],
)
def test_macro_average_of_two_is_newcombes_difference(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    """The mean of p and 1 - q is (1 + p - q) / 2, so its limits follow from those of p - q."""
    found = stats.macro_average([first, (second[1] - second[0], second[1])])
    assert found.interval == pytest.approx(((1 + low) / 2, (1 + high) / 2), abs=3e-5)


def test_macro_average_of_one_group_is_wilson() -> None:
    found = stats.macro_average([(15, 148)])
    assert found.mean == 15 / 148
    assert found.interval == pytest.approx(stats.wilson(15, 148))


def test_cluster_counts_are_the_cluster_interval() -> None:
    values, clusters = [1, 1, 0, 1, 0, 0, 1], ["a", "a", "a", "b", "b", "c", "d"]
    assert stats.cluster_counts([(2, 3), (1, 2), (0, 1), (1, 1), (0, 0)]) == stats.cluster_interval(values, clusters)
    assert stats.cluster_counts([]) == stats.cluster_interval([], [])
    with pytest.raises(ValueError, match="in each cluster"):
        stats.cluster_counts([(2, 1)])


def test_mean_interval_by_hand() -> None:
    limits = Interval(-0.5, 0.75)
    mean, interval = stats.mean_interval([(0.25, limits)])
    assert (mean, *interval) == pytest.approx((0.25, -0.5, 0.75))
    # Two of the same: the distances to the limits shrink by sqrt(2).
    mean, interval = stats.mean_interval([(0.25, limits)] * 2)
    assert (mean, *interval) == pytest.approx((0.25, 0.25 - 0.75 / 2**0.5, 0.25 + 0.5 / 2**0.5))
    assert stats.mean_interval([(0.25, limits)], floor=0.0)[1].low == 0.0
    with pytest.raises(ValueError, match="at least one"):
        stats.mean_interval([])


def test_paired_counts_are_the_paired_difference() -> None:
    first, second = [True] * 7 + [False] * 3, [True] * 2 + [False] * 6 + [True] * 2
    assert stats.paired_counts(2, 5, 2, 1) == stats.paired_difference(first, second)
    assert stats.paired_counts(0, 0, 0, 0) == stats.paired_difference([], [])


def test_macro_average_weighs_groups_alike() -> None:
    assert stats.macro_average([(1, 2), (100, 400)]).mean == 0.375


def test_macro_average_leaves_out_empty_groups() -> None:
    assert stats.macro_average([(3, 4), (0, 0)]) == stats.MacroAverage(
        0.75, stats.macro_average([(3, 4)]).interval, groups=1, empty=1
    )
    assert stats.macro_average([]) == stats.MacroAverage(None, Interval(0, 1), 0, 0)
    assert stats.macro_average([(0, 0)]) == stats.MacroAverage(None, Interval(0, 1), 0, 1)


@given(st.lists(counts(), min_size=1, max_size=8), LEVELS)
def test_macro_average_holds_the_mean(groups: list[tuple[int, int]], level: float) -> None:
    found = stats.macro_average(groups, level)
    assert found.mean is not None
    assert 0 <= found.interval.low <= found.mean + 1e-12
    assert found.mean - 1e-12 <= found.interval.high <= 1
    assert found.interval.high > found.interval.low


def covered(interval: Interval, truth: float) -> bool:
    return interval.low <= truth <= interval.high


@pytest.mark.parametrize("rates", [(0.52, 0.17, 0.3, 0.25), (0.98, 0.99, 0.9, 0.95), (0.02, 0.5, 0.03, 0.01)])
@pytest.mark.parametrize("n", [24, 500])
def test_macro_average_covers_the_truth(rates: tuple[float, ...], n: int) -> None:
    rng = np.random.default_rng(1)
    draws = rng.binomial(n, rates, (2000, len(rates)))
    hits = [covered(stats.macro_average([(int(k), n) for k in row]).interval, np.mean(rates)) for row in draws]
    assert 0.93 <= np.mean(hits) <= 0.985


@pytest.mark.parametrize("rate", [0.3, 0.9])
def test_cluster_interval_covers_the_truth_where_wilson_does_not(rate: float) -> None:
    """60 recordings of 5 questions, whose own rates are beta with an intra-cluster correlation of 1/3."""
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(60), 5).tolist()
    robust, plain = [], []
    for _ in range(500):
        values = rng.binomial(1, np.repeat(rng.beta(2 * rate, 2 * (1 - rate), 60), 5)).tolist()
        robust.append(covered(stats.cluster_interval(values, clusters).interval, rate))
        plain.append(covered(stats.wilson(sum(values), 300), rate))
    assert 0.92 <= np.mean(robust) <= 0.985
    assert np.mean(plain) < 0.88


def test_conditional_by_hand() -> None:
    single = {"a": True, "b": True, "c": False, "d": True, "only": True, "single": True}
    multi = {"a": True, "b": False, "c": True, "d": True, "multi": True}
    found = stats.conditional(multi, single)
    assert found == stats.Conditional(2, 3, 2 / 3, stats.wilson(2, 3), only_multi=1, only_single=2)


@pytest.mark.parametrize(("multi", "single"), [({}, {}), ({"a": True}, {"a": False}), ({"a": True}, {"b": True})])
def test_conditional_on_nothing_is_none_not_zero(multi: dict[str, bool], single: dict[str, bool]) -> None:
    found = stats.conditional(multi, single)
    assert (found.k, found.n, found.accuracy, found.interval) == (0, 0, None, Interval(0, 1))


# --- two systems ---


@pytest.mark.parametrize(
    ("b", "c", "expected"),
    [  # 2 * (1 + 8) / 256; 2 * (1 + 14 + 91) / 16384; 2 / 32
        (1, 7, 0.0703125),
        (12, 2, 0.012939453125),
        (0, 5, 0.0625),
        (5, 5, 1.0),
        (0, 0, 1.0),
        (0, 1, 1.0),
    ],
)
def test_mcnemar_by_hand(b: int, c: int, expected: float) -> None:
    assert stats.mcnemar_exact(b, c) == stats.mcnemar_exact(c, b) == expected


def test_mcnemar_by_trying_all_coin_tosses() -> None:
    for n in range(1, 11):
        heads = [sum(toss) for toss in itertools.product((0, 1), repeat=n)]
        for b in range(n + 1):
            extreme = sum(abs(2 * h - n) >= abs(2 * b - n) for h in heads)
            assert stats.mcnemar_exact(b, n - b) == extreme / 2**n


def test_mcnemar_is_exact_at_sizes_where_floats_fail() -> None:
    # 2 * (1 + 502 + 502 * 501 / 2) / 2^502
    assert stats.mcnemar_exact(2, 500) == 2 * (1 + 502 + 125751) * 2.0**-502
    assert stats.mcnemar_exact(900, 1100) == pytest.approx(8.5e-6, rel=0.05)  # z = 199 / sqrt(2000) = 4.45
    assert stats.mcnemar_exact(1000, 1000) == 1


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(ValueError, match="expected counts"):
        stats.mcnemar_exact(-1, 3)


@pytest.mark.parametrize(
    ("table", "difference", "low", "high"),
    [  # Newcombe (1998), Statistics in Medicine 17:2635-2650, method 10; the last: Fagerland, Lydersen and Laake (2014)
        ((36, 12, 2, 0), 0.2, 0.0569, 0.3404),
        ((20, 12, 2, 16), 0.2, 0.0562, 0.3292),
        ((1, 1, 7, 12), -0.2857, -0.5069, -0.0256),
    ],
)
def test_paired_difference_on_published_tables(
    table: tuple[int, int, int, int], difference: float, low: float, high: float
) -> None:
    found = stats.paired_difference(*paired(*table))
    assert (found.both, found.only_a, found.only_b, found.neither) == table
    assert found.n == sum(table)
    assert found.difference == pytest.approx(difference, abs=5e-5)
    assert found.interval == pytest.approx((low, high), abs=6e-5)
    assert found.p_value == stats.mcnemar_exact(table[1], table[2])


@given(st.tuples(*[st.integers(0, 60)] * 4).filter(any), LEVELS)
def test_paired_difference_is_antisymmetric_and_holds_the_difference(table: tuple[int, ...], level: float) -> None:
    a, b = paired(*table)
    found, swapped = stats.paired_difference(a, b, level), stats.paired_difference(b, a, level)
    assert found.difference is not None
    assert -1 <= found.interval.low <= found.difference <= found.interval.high <= 1
    assert swapped.interval == pytest.approx((-found.interval.high, -found.interval.low), abs=1e-12)
    assert swapped.p_value == found.p_value


def test_paired_difference_of_the_same_system_is_nought_but_not_sure() -> None:
    found = stats.paired_difference([True] * 30 + [False] * 20, [True] * 30 + [False] * 20)
    assert (found.difference, found.p_value) == (0, 1)
    assert found.interval.low == pytest.approx(-found.interval.high)
    assert found.interval.low < -0.01


def test_paired_difference_of_nothing() -> None:
    assert stats.paired_difference([], []) == stats.PairedDifference(0, 0, 0, 0, 0, None, Interval(-1, 1), 1.0)


def test_paired_difference_refuses_unequal_lengths() -> None:
    with pytest.raises(ValueError, match="found 2 and 1"):
        stats.paired_difference([True, False], [True])


def test_paired_difference_covers_the_truth() -> None:
    rng = np.random.default_rng(3)
    draws = rng.multinomial(100, (0.4, 0.2, 0.1, 0.3), 1500)
    hits = [covered(stats.paired_difference(*paired(*map(int, row))).interval, 0.1) for row in draws]
    assert 0.93 <= np.mean(hits) <= 0.975


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [  # sorted .005 .01 .03 .04, times 4 3 2 1: .02 .03 .06 .04, made monotone
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.02, 0.02, 0.02], [0.06, 0.06, 0.06]),
        ([0.9, 0.8], [1.0, 1.0]),
        ([0.04], [0.04]),
        ([0.0, 1.0], [0.0, 1.0]),
        ([], []),
    ],
)
def test_holm_by_hand(p_values: list[float], expected: list[float]) -> None:
    assert stats.holm(p_values) == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), max_size=30), st.randoms())
def test_holm_keeps_order_and_lies_between_none_and_bonferroni(p_values: list[float], random) -> None:
    adjusted = stats.holm(p_values)
    for (p, q), (r, s) in itertools.combinations(zip(p_values, adjusted, strict=True), 2):
        assert (p > r) or (q <= s)
        assert (p != r) or (q == s)
    for p, q in zip(p_values, adjusted, strict=True):
        assert p <= q <= min(1, len(p_values) * p)
    order = list(range(len(p_values)))
    random.shuffle(order)
    assert stats.holm([p_values[i] for i in order]) == [adjusted[i] for i in order]


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_holm_refuses(bad: float) -> None:
    with pytest.raises(ValueError, match="expected p values"):
        stats.holm([0.5, bad])


@pytest.mark.parametrize(("n", "rate", "power"), [(500, 0.2, 0.8), (500, 0.5, 0.9), (96, 0.3, 0.8), (2000, 0.1, 0.5)])
def test_smallest_difference_solves_connors_formula(n: int, rate: float, power: float) -> None:
    d = stats.smallest_detectable_difference(n, rate, power=power)
    assert d is not None
    z_b = {0.8: 0.8416212, 0.9: 1.2815516, 0.5: 0.0}[power]
    needed = (1.9599640 * math.sqrt(rate) + z_b * math.sqrt(rate - d * d)) ** 2 / d**2
    assert needed == pytest.approx(n, rel=1e-6)


def test_smallest_difference_is_found_with_the_power_asked_for() -> None:
    d = stats.smallest_detectable_difference(500, 0.2)
    assert d is not None
    rng = np.random.default_rng(4)
    draws = rng.multinomial(500, ((0.2 + d) / 2, (0.2 - d) / 2, 0.8), 4000)
    b, c = draws[:, 0], draws[:, 1]
    assert np.mean((b - c) ** 2 > 1.959964**2 * (b + c)) == pytest.approx(0.8, abs=0.03)


def test_smallest_difference_is_none_where_there_can_be_none() -> None:
    """With 20 items and 10 % discordant, two pairs differ: no test can find anything."""
    assert stats.smallest_detectable_difference(20, 0.1) is None
    assert stats.smallest_detectable_difference(1, 1.0) is None
    assert stats.smallest_detectable_difference(1, 1.0, alpha=0.01) is None


@given(st.integers(50, 5000), st.floats(0.2, 1), st.floats(0.5, 0.99))
def test_smallest_difference_falls_with_n_and_rises_with_power(n: int, rate: float, power: float) -> None:
    d = stats.smallest_detectable_difference(n, rate, power=power)
    if d is not None:
        assert 0 < d <= rate
        more, surer = (stats.smallest_detectable_difference(*args) for args in ((4 * n, rate, 0.05, power), (n, rate)))
        assert more is not None
        assert more < d
        assert power < 0.8 or (surer is not None and surer <= d + 1e-12)


@pytest.mark.parametrize("arguments", [(0, 0.2), (9, 0), (9, 1.1), (9, 0.2, 0), (9, 0.2, 0.05, 0.4), (9, 0.2, 0.05, 1)])
def test_smallest_difference_refuses(arguments: tuple) -> None:
    with pytest.raises(ValueError, match="expected"):
        stats.smallest_detectable_difference(*arguments)


# --- two raters ---


@pytest.mark.parametrize(
    ("table", "expected"),
    [  # agree 35 / 50 = .7, by chance .5 * .6 + .5 * .4 = .5; then .5 against .5; then 0 against .5
        ([[20, 5], [10, 15]], 0.4),
        ([[1, 1], [1, 1]], 0.0),
        ([[0, 5], [5, 0]], -1.0),
        ([[7, 0], [0, 3]], 1.0),
        # agree 60 / 100, by chance (40 * 50 + 30 * 30 + 30 * 20) / 10000 = .35
        ([[30, 5, 5], [10, 20, 0], [10, 5, 15]], (0.65 - 0.35) / 0.65),
        ([[9]], None),
        ([[9, 0], [0, 0]], None),
        ([[0, 0], [0, 0]], None),
        ([], None),
        ([[0, 5], [0, 0]], 0.0),
    ],
)
def test_kappa_by_hand(table: list[list[int]], expected: float | None) -> None:
    assert stats.cohen_kappa(table) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("table", [[[1, 2]], [[1], [2]], [[]], [[1, -1], [0, 1]]])
def test_kappa_refuses(table: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="square"):
        stats.cohen_kappa(table)


def test_agreement_by_hand() -> None:
    a = ["right", "right", "wrong", "wrong", "right", "none"]
    b = ["right", "wrong", "wrong", "right", "right", "wrong"]
    found = stats.agreement(a, b)
    assert found.labels == ("none", "right", "wrong")
    assert found.confusion == ((0, 0, 1), (0, 2, 1), (0, 1, 1))
    assert (found.n, found.agree, found.rate) == (6, 3, 0.5)
    assert found.interval == stats.wilson(3, 6)
    # by chance (1 * 0 + 3 * 3 + 2 * 3) / 36 = 15 / 36; (18 - 15) / (36 - 15)
    assert found.kappa == pytest.approx(3 / 21)


def test_agreement_at_its_edges() -> None:
    assert stats.agreement([], []) == stats.Agreement(0, 0, None, Interval(0, 1), None, (), ())
    same = stats.agreement([True] * 4, [True] * 4)
    assert (same.rate, same.kappa, same.confusion) == (1, None, ((4,),))
    with pytest.raises(ValueError, match="found 1 and 0"):
        stats.agreement(["a"], [])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1))
def test_agreement_is_symmetric(pairs: list[tuple[str, str]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    one, other = stats.agreement(a, b), stats.agreement(b, a)
    assert (one.agree, one.kappa, one.labels) == (other.agree, other.kappa, other.labels)
    assert one.confusion == tuple(zip(*other.confusion, strict=True))
    assert sum(map(sum, one.confusion)) == one.n
    assert one.kappa is None or -1 <= one.kappa <= 1
