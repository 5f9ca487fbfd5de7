"""The one place where proportions, their intervals and their comparisons are computed.

Pure functions on counts, booleans and labels. Proportions are fractions in [0, 1], levels are two-sided (0.95). An
accuracy with nothing to count is None, never 0, and its interval, where one is asked for, is all of [0, 1].
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Interval(NamedTuple):
    """A two-sided interval, `low <= high`, both ends included."""

    low: float
    high: float


@dataclass(frozen=True)
class ClusterMean:
    """A mean over clustered 0/1 values: `mean` and `se` are None where they are undefined."""

    mean: float | None
    se: float | None
    n: int
    clusters: int
    interval: Interval


@dataclass(frozen=True)
class MacroAverage:
    """A plain mean of `groups` group proportions; `empty` groups had no item and are left out."""

    mean: float | None
    interval: Interval
    groups: int
    empty: int


@dataclass(frozen=True)
class PairedDifference:
    """Two systems on the same items: counts of the four outcomes, and the difference of accuracies, a minus b."""

    n: int
    both: int
    only_a: int
    only_b: int
    neither: int
    difference: float | None
    interval: Interval
    p_value: float


@dataclass(frozen=True)
class Conditional:
    """Multi-hop accuracy on the `n` items whose single hop was right, `k` of them right.

    `only_multi` and `only_single` count ids that just one side has; they are left out.
    """

    k: int
    n: int
    accuracy: float | None
    interval: Interval
    only_multi: int
    only_single: int


@dataclass(frozen=True)
class Agreement:
    """Two raters on the same items; `confusion[i][j]` counts items called `labels[i]` by a and `labels[j]` by b."""

    n: int
    agree: int
    rate: float | None
    interval: Interval
    kappa: float | None
    labels: tuple[Hashable, ...]
    confusion: tuple[tuple[int, ...], ...]


# --- one proportion ---


def wilson(k: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval of a proportion, without continuity correction.

    Follows Wilson (1927), as method 3 of Newcombe (1998), Statistics in Medicine 17:857-872.

    Args:
        k: successes, 0 to n.
        n: trials; 0 gives (0, 1), as nothing is known.
        level: confidence level in (0, 1).

    Raises:
        ValueError: k or n out of range, or a level not in (0, 1).
    """
    if not 0 <= k <= n:
        raise ValueError(f"expected 0 <= k <= n; found k={k}, n={n}")
    return _wilson(k / n, n, _z(level)) if n else Interval(0.0, 1.0)


def paper_half_width(p: float, n: int = 500, scale: float = 1.0) -> float:
    """Half-width of the 95 % Wald interval that the SAKURA paper prints: `1.96 * sqrt(p * (1 - p) / n)`.

    For comparison with the published tables only: it is 0 at p = 0, and the paper keeps n = 500 for subsets.

    Args:
        p: proportion in [0, scale].
        n: items.
        scale: 1 for fractions, 100 for percent; the result has the same unit.

    Raises:
        ValueError: p outside [0, scale], or n < 1.
    """
    if not 0 <= p <= scale or n < 1:
        raise ValueError(f"expected 0 <= p <= {scale:g} and n >= 1; found p={p}, n={n}")
    return 1.96 * math.sqrt(p * (scale - p) / n)


def binomial_interval(n: int, p: float, level: float = 0.95) -> Interval:
    """Where the observed rate of n trials lies with probability at least `level`, if the true rate is p.

    The central interval, each tail holding at most (1 - level) / 2; for testing a chance model. The bounds are counts
    divided by n, so a rate k / n compares exactly.

    Raises:
        ValueError: n < 1, p outside [0, 1], or a level not in (0, 1).
    """
    if n < 1 or not 0 <= p <= 1:
        raise ValueError(f"expected n >= 1 and 0 <= p <= 1; found n={n}, p={p}")
    _z(level)
    from scipy.stats import binom  # slow to import

    low, high = binom.ppf([(1 - level) / 2, (1 + level) / 2], n, p)
    return Interval(int(low) / n, int(high) / n)


def cluster_interval(values: Sequence[bool | int], clusters: Sequence[Hashable], level: float = 0.95) -> ClusterMean:
    """Mean of 0/1 values of which several share a cluster (questions on one recording), and its interval.

    The standard error is the cluster-robust one, `sqrt(G / (G - 1) * sum_g(sum_i(y_i - mean))^2) / n` for G clusters.
    The interval is Wilson's at the effective sample size, n over the design effect `se^2 * (n - 1) / (mean * (1 -
    mean))` (taken as 1 where less), reduced by the squared ratio of the t quantiles of n - 1 and G - 1 degrees of
    freedom: Korn and Graubard (1998), Survey Methodology 24:193-201, with Wilson's in place of the exact interval, a
    choice compared with others by Dean and Pagano (2015), J. Survey Statistics and Methodology 3:484-503. Where all
    values are equal no variance can be estimated, and the effective size is G. Clusters of one give `wilson`.

    No value gives mean None, one cluster se None; both give (0, 1).

    Raises:
        ValueError: lengths differ, a value is neither 0 nor 1, or a level not in (0, 1).
    """
    if len(values) != len(clusters):
        raise ValueError(f"expected one cluster a value; found {len(values)} values, {len(clusters)} clusters")
    if any(value not in (0, 1) for value in values):
        raise ValueError("expected values of 0 or 1")
    counts: defaultdict[Hashable, list[int]] = defaultdict(lambda: [0, 0])
    for value, cluster in zip(values, clusters, strict=True):
        count = counts[cluster]
        count[0] += value
        count[1] += 1
    return cluster_counts(list(counts.values()), level)


def cluster_counts(counts: Sequence[Sequence[int]], level: float = 0.95) -> ClusterMean:
    """The same from each cluster's (k, n); clusters with n = 0 are left out.

    Raises:
        ValueError: a count out of range, or a level not in (0, 1).
    """
    if any(not 0 <= k <= n for k, n in counts):
        raise ValueError("expected 0 <= k <= n in each cluster")
    z, kept = _z(level), [(k, n) for k, n in counts if n]
    groups, total = len(kept), sum(n for _, n in kept)
    mean = sum(k for k, _ in kept) / total if total else None
    if mean is None or groups < 2:
        return ClusterMean(mean, None, total, groups, Interval(0.0, 1.0))
    if mean in (0, 1):
        return ClusterMean(mean, 0.0, total, groups, _wilson(mean, _by_t(groups, total, groups, level), z))
    residuals = sum((k - n * mean) ** 2 for k, n in kept)
    se = math.sqrt(groups / (groups - 1) * residuals) / total
    effect = max(1.0, se**2 * (total - 1) / (mean * (1 - mean)))
    return ClusterMean(mean, se, total, groups, _wilson(mean, _by_t(total / effect, total, groups, level), z))


def macro_average(groups: Sequence[tuple[int, int]], level: float = 0.95) -> MacroAverage:
    """Plain mean of the proportions of independent groups (a benchmark's tracks), each given as (k, n).

    The interval recovers the variance of the mean at its two ends from the groups' Wilson limits ("MOVER"): Zou, Huang
    and Zhang (2009), Computational Statistics and Data Analysis 53:1080-1085; Donner and Zou (2012), Statistical
    Methods in Medical Research 21:347-359. It needs no normality of the single proportions and stays in [0, 1].

    Groups with n = 0 are left out and counted; with none left the mean is None and the interval (0, 1).

    Raises:
        ValueError: a count out of range, or a level not in (0, 1).
    """
    intervals = [wilson(k, n, level) for k, n in groups]
    limits = [(k / n, interval) for (k, n), interval in zip(groups, intervals, strict=True) if n]
    count = len(limits)
    if not count:
        return MacroAverage(None, Interval(0.0, 1.0), 0, len(groups))
    mean, interval = mean_interval(limits, floor=0.0)
    return MacroAverage(mean, interval, count, len(groups) - count)


def mean_interval(estimates: Sequence[tuple[float, Interval]], floor: float = -1.0) -> tuple[float, Interval]:
    """The plain mean of independent estimates in [floor, 1] and its interval, from their own intervals.

    The rule of `macro_average`, which is for proportions; paired differences lie in [-1, 1].

    Raises:
        ValueError: no estimate.
    """
    count = len(estimates)
    if not count:
        raise ValueError("expected at least one estimate")
    mean = math.fsum(estimate for estimate, _ in estimates) / count
    down = math.sqrt(math.fsum((estimate - limits.low) ** 2 for estimate, limits in estimates)) / count
    up = math.sqrt(math.fsum((limits.high - estimate) ** 2 for estimate, limits in estimates)) / count
    return mean, _within(mean - down, mean + up, floor)


def conditional(
    multi_correct: Mapping[Key, bool], single_correct: Mapping[Key, bool], level: float = 0.95
) -> Conditional:
    """Multi-hop accuracy given a right single hop, joined by item id, with Wilson's interval at the true n.

    The measure of SAKURA's Table 3. With no right single hop the accuracy is None and the interval (0, 1).
    """
    shared = multi_correct.keys() & single_correct.keys()
    kept = [bool(multi_correct[item]) for item in shared if single_correct[item]]
    k, n = sum(kept), len(kept)
    only_multi, only_single = len(multi_correct) - len(shared), len(single_correct) - len(shared)
    return Conditional(k, n, k / n if n else None, wilson(k, n, level), only_multi, only_single)


# --- two systems on the same items ---


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided exact McNemar test: p value of b against c discordant pairs under a fair coin; 1 for none.

    Twice the smaller binomial tail, at most 1 (McNemar 1947; Fagerland, Lydersen and Laake 2013, BMC Medical Research
    Methodology 13:91). Computed in whole numbers, exact at any size.

    Raises:
        ValueError: a negative count.
    """
    if b < 0 or c < 0:
        raise ValueError(f"expected counts; found b={b}, c={c}")
    n, term, tail = b + c, 1, 0
    for i in range(min(b, c) + 1):
        tail += term
        term = term * (n - i) // (i + 1)
    return min(1.0, 2 * tail / 2**n)


def paired_difference(a: Sequence[bool], b: Sequence[bool], level: float = 0.95) -> PairedDifference:
    """Difference of two systems' accuracies on the same items, in the same order: a minus b, in [-1, 1].

    The interval is method 10 of Newcombe (1998), Statistics in Medicine 17:2635-2650 (square-and-add of Wilson's
    limits, with the continuity-corrected correlation); the p value is McNemar's exact one.

    No item gives difference None, interval (-1, 1) and p 1.

    Raises:
        ValueError: lengths differ, or a level not in (0, 1).
    """
    if len(a) != len(b):
        raise ValueError(f"expected results on the same items; found {len(a)} and {len(b)}")
    counts = Counter((bool(x), bool(y)) for x, y in zip(a, b, strict=True))
    pairs = counts[True, True], counts[True, False], counts[False, True], counts[False, False]
    return paired_counts(*pairs, level=level)


def paired_counts(both: int, only_a: int, only_b: int, neither: int, level: float = 0.95) -> PairedDifference:
    """The same from the four counts, as where the items of several tasks are taken together."""
    n, p_value = both + only_a + only_b + neither, mcnemar_exact(only_a, only_b)
    first, second = wilson(both + only_a, n, level), wilson(both + only_b, n, level)
    if not n:
        return PairedDifference(0, 0, 0, 0, 0, None, Interval(-1.0, 1.0), p_value)
    p1, p2 = (both + only_a) / n, (both + only_b) / n
    phi = _corrected_phi(both, only_a, only_b, neither)
    difference = (only_a - only_b) / n
    down = _side(p1 - first.low, second.high - p2, phi)
    up = _side(first.high - p1, p2 - second.low, phi)
    interval = _within(difference - down, difference + up, -1.0)
    return PairedDifference(n, both, only_a, only_b, neither, difference, interval, p_value)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p values, in the order given; equal ones stay equal, [] gives [].

    Follows Holm (1979), Scandinavian Journal of Statistics 6:65-70: controls the chance of any false finding.

    Raises:
        ValueError: a value outside [0, 1] (NaN too).
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("expected p values in [0, 1]")
    adjusted, running = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = running
    return adjusted


def smallest_detectable_difference(
    n: int, discordant_rate: float, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Smallest difference of accuracies that McNemar's two-sided test on n items finds with the given power.

    Solves `n * d^2 = (z_a * sqrt(r) + z_b * sqrt(r - d^2))^2` for d (Connor 1987, Biometrics 43:207-211), r being the
    rate of items on which just one system is right, z_a and z_b the normal quantiles of 1 - alpha / 2 and of power:

        d = sqrt(r) * (z_a * sqrt(n) + z_b * sqrt(n - z_a^2 + z_b^2)) / (n + z_b^2)

    Returns:
        d in (0, discordant_rate]; None where n is too small, as no difference can exceed the discordant rate.

    Raises:
        ValueError: n < 1, a rate outside (0, 1], alpha outside (0, 1), or power outside [0.5, 1).
    """
    if n < 1 or not 0 < discordant_rate <= 1 or not 0.5 <= power < 1:
        raise ValueError(
            f"expected n >= 1, 0 < discordant_rate <= 1, 0.5 <= power < 1; found {n}, {discordant_rate}, {power}"
        )
    z_a, z_b = _z(1 - alpha), NormalDist().inv_cdf(power)
    inner = n - z_a**2 + z_b**2
    if inner < 0:
        return None
    d = math.sqrt(discordant_rate) * (z_a * math.sqrt(n) + z_b * math.sqrt(inner)) / (n + z_b**2)
    return d if d <= discordant_rate else None


# --- two raters ---


def cohen_kappa(table: Sequence[Sequence[int]]) -> float | None:
    """Cohen's kappa of a square table of counts, rows one rater, columns the other; in [-1, 1].

    Follows Cohen (1960), Educational and Psychological Measurement 20:37-46. None where it is undefined: an empty
    table, or both raters giving one and the same label throughout.

    Raises:
        ValueError: the table is not square, or a count is negative.
    """
    if any(len(row) != len(table) or min(row) < 0 for row in table):
        raise ValueError("expected a square table of counts")
    n = sum(map(sum, table))
    agree = sum(row[i] for i, row in enumerate(table))
    # Times n^2, in whole numbers, so that the undefined case is met exactly.
    expected = sum(sum(row) * sum(column) for row, column in zip(table, zip(*table, strict=True), strict=True))
    return (n * agree - expected) / (n * n - expected) if n * n != expected else None


def agreement(labels_a: Sequence[Hashable], labels_b: Sequence[Hashable], level: float = 0.95) -> Agreement:
    """How often two raters of the same items, in the same order, say the same, with Wilson's interval and kappa.

    The labels are sorted by their text. No item gives rate and kappa None and interval (0, 1).

    Raises:
        ValueError: lengths differ, or a level not in (0, 1).
    """
    if len(labels_a) != len(labels_b):
        raise ValueError(f"expected labels of the same items; found {len(labels_a)} and {len(labels_b)}")
    labels = tuple(sorted({*labels_a, *labels_b}, key=str))
    counts = Counter(zip(labels_a, labels_b, strict=True))
    confusion = tuple(tuple(counts[a, b] for b in labels) for a in labels)
    n, agree = len(labels_a), sum(counts[label, label] for label in labels)
    rate = agree / n if n else None
    return Agreement(n, agree, rate, wilson(agree, n, level), cohen_kappa(confusion), labels, confusion)


# --- helpers ---


def _z(level: float) -> float:
    """The normal quantile of a two-sided level."""
    if not 0 < level < 1:
        raise ValueError(f"expected a level between 0 and 1; found {level}")
    return NormalDist().inv_cdf((1 + level) / 2)


def _within(low: float, high: float, floor: float) -> Interval:
    return Interval(max(floor, low), min(1.0, high))


def _wilson(p: float, n: float, z: float) -> Interval:
    """Wilson's interval for any n > 0, whole or effective; exact where p is 0 or 1, which rounding would miss."""
    centre = p + z * z / (2 * n)
    spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if p == 0 else min(p, (centre - spread) / scale)
    high = 1.0 if p == 1 else max(p, (centre + spread) / scale)
    return _within(low, high, 0.0)


def _by_t(effective: float, n: int, groups: int, level: float) -> float:
    """The effective sample size, reduced for the few degrees of freedom that `groups` clusters leave."""
    from scipy.special import stdtrit  # the t quantile; scipy is slow to import

    quantile = (1 + level) / 2
    return effective * float(stdtrit(n - 1, quantile) / stdtrit(groups - 1, quantile)) ** 2


def _corrected_phi(both: int, only_a: int, only_b: int, neither: int) -> float:
    """Newcombe's correlation of paired results: positive ones are reduced by n / 2 cross products, not below 0."""
    cross: float = both * neither - only_a * only_b
    if cross > 0:
        cross = max(0, cross - (both + only_a + only_b + neither) / 2)
    margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    return cross / math.sqrt(margins) if margins else 0.0


def _side(x: float, y: float, phi: float) -> float:
    return math.sqrt(max(0.0, x * x - 2 * phi * x * y + y * y))
