"""What a report says, as data: the page and report.json are two faces of the same summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.verdicts import Verdicts
from simifeat.vote_bound import vote_lower_bound

MOST_CLASSES_IN_MATRIX = 24
_MOST_PAIRS = 12
_N_SCORE_BINS = 40
_ELSEWHERE = ("source", "agreement", "clusterability")  # of the metadata: said in other places
_BUDGETS = (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 500_000)


@dataclass(frozen=True)
class ClassLine:
    """One given class."""

    name: str
    n_examples: int
    n_corrupted: int
    """Flagged."""
    expected: float
    """Sum of p_corrupted: how many are wrong, flagged or not."""
    most_often: str | None
    """The most frequent suggestion for its flagged labels."""
    most_often_share: float


@dataclass(frozen=True)
class Pair:
    """Labels given as one class that are probably another."""

    given: str
    suggested: str
    count: int


@dataclass(frozen=True)
class Matrix:
    """T among the classes that lose most; what goes to any other class is ``rest``."""

    names: list[str]
    values: list[list[float]]
    rest: list[float]
    n_left_out: int


@dataclass(frozen=True)
class Histogram:
    """Scores counted: ``edges`` has one entry more than the counts."""

    edges: list[float]
    kept: list[int]
    flagged: list[int]
    cut: float | None
    """Named labels score below, kept ones above; None where no score parts them."""


@dataclass(frozen=True)
class Budget:
    """Reviewing the ``reviewed`` most suspicious finds about ``expected`` corrupted labels."""

    reviewed: int
    expected: float


@dataclass(frozen=True)
class Summary:
    """Everything the report says but the examples it shows."""

    n_examples: int
    n_classes: int
    n_corrupted: int
    expected_corrupted: float
    """Sum of p_corrupted."""
    noise_rate: float
    noise_interval: tuple[float, float] | None
    level: float | None
    """How sure it is that the noise rate lies in that interval."""
    identifiable: bool
    reasons: list[str]
    agreement: list[float]
    """Share of equal labels between an example and its r-th neighbour, r = 1, 2, ..."""
    chance_agreement: float
    """The same among strangers."""
    clusterability: list[float]
    """Estimated 1 - delta_k, k = 1, 2, ...: suggested labels stand in for true ones."""
    vote_bounds: list[float]
    """Proposition 1 at each of those k; empty where it says nothing."""
    classes: list[ClassLine]
    pairs: list[Pair]
    matrix: Matrix
    scores: Histogram
    budgets: list[Budget]
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings for JSON."""
        return asdict(self)


def summarise(verdicts: Verdicts) -> Summary:
    """Everything that follows from the verdicts alone; time O(n log n), nothing is read."""
    codes = np.searchsorted(verdicts.classes, verdicts.labels)  # [n]
    other = np.searchsorted(verdicts.classes, verdicts.suggested)  # [n]
    names = [str(name) for name in verdicts.classes.tolist()]
    k = len(names)
    flags = verdicts.is_corrupted
    stored = verdicts.metadata
    sure = verdicts.transition.intervals
    frequency = np.bincount(codes, minlength=k) / len(codes)
    expected = float(verdicts.p_corrupted.sum(dtype=np.float64))
    return Summary(
        n_examples=verdicts.n_examples,
        n_classes=k,
        n_corrupted=verdicts.n_corrupted,
        expected_corrupted=expected,
        noise_rate=verdicts.transition.noise_rate,
        noise_interval=None if sure is None else sure.noise_rate,
        level=None if sure is None else sure.level,
        identifiable=verdicts.transition.identifiable,
        reasons=list(verdicts.transition.reasons),
        agreement=list(stored.get("agreement", [])),
        chance_agreement=float((frequency**2).sum()),
        clusterability=list(stored.get("clusterability", [])),
        vote_bounds=_vote_bounds(list(stored.get("clusterability", [])), expected / len(codes), k),
        classes=_class_lines(verdicts, codes, other, names),
        pairs=_pairs(codes[flags], other[flags], names),
        matrix=_matrix(verdicts, names),
        scores=_histogram(verdicts.score, flags),
        budgets=_budgets(verdicts.p_corrupted),
        metadata={key: stored[key] for key in stored if key not in _ELSEWHERE},
    )


def _vote_bounds(clusterability: list[float], noise_rate: float, n_classes: int) -> list[float]:
    """Lower bounds of P(the vote is right), if wrong labels are fewer than chance would make."""
    if not clusterability or noise_rate >= 1 - 1 / n_classes:
        return []
    ks = np.arange(1, len(clusterability) + 1)
    bounds = vote_lower_bound(ks, noise_rate, 1 - np.asarray(clusterability), n_classes=n_classes)
    return [float(bound) for bound in bounds]


def _class_lines(
    verdicts: Verdicts, codes: NDArray[np.int64], other: NDArray[np.int64], names: list[str]
) -> list[ClassLine]:
    """Classes by falling share of flagged labels."""
    k = len(names)
    flags = verdicts.is_corrupted
    counts = np.bincount(codes, minlength=k)
    flagged = np.bincount(codes, weights=flags, minlength=k).astype(int)
    expected = np.bincount(codes, weights=verdicts.p_corrupted, minlength=k)
    key, times = np.unique(codes[flags] * k + other[flags], return_counts=True)
    best: dict[int, tuple[int, int]] = {}  # class -> times, suggestion; the first of equals stays
    for pair, count in zip(key.tolist(), times.tolist(), strict=True):
        if count > best.get(pair // k, (0, 0))[0]:
            best[pair // k] = (count, pair % k)
    lines = []
    for j in np.argsort(-flagged / np.maximum(counts, 1), kind="stable").tolist():
        count, suggestion = best.get(j, (0, -1))
        lines.append(
            ClassLine(
                name=names[j],
                n_examples=int(counts[j]),
                n_corrupted=int(flagged[j]),
                expected=float(expected[j]),
                most_often=names[suggestion] if count else None,
                most_often_share=count / flagged[j] if count else 0.0,
            )
        )
    return lines


def _pairs(given: NDArray[np.int64], other: NDArray[np.int64], names: list[str]) -> list[Pair]:
    k = len(names)
    key, times = np.unique(given * k + other, return_counts=True)
    order = np.argsort(-times, kind="stable")[:_MOST_PAIRS]
    return [Pair(names[key[i] // k], names[key[i] % k], int(times[i])) for i in order]


def _matrix(verdicts: Verdicts, names: list[str]) -> Matrix:
    transition = verdicts.transition
    lost = transition.prior * (1 - np.diagonal(transition.matrix))  # [K] share of all labels
    shown = np.sort(np.argsort(-lost, kind="stable")[:MOST_CLASSES_IN_MATRIX])
    values = transition.matrix[np.ix_(shown, shown)]
    return Matrix(
        names=[names[i] for i in shown],
        values=values.tolist(),
        rest=np.maximum(1 - values.sum(axis=1), 0).tolist(),
        n_left_out=len(names) - len(shown),
    )


def _histogram(score: NDArray[np.float32], flags: NDArray[np.bool_]) -> Histogram:
    low, high = float(score.min()), float(score.max())
    edges = np.linspace(low, high if high > low else low + 1, _N_SCORE_BINS + 1)
    kept, flagged = (np.histogram(score[mask], edges)[0] for mask in (~flags, flags))
    return Histogram(edges.tolist(), kept.tolist(), flagged.tolist(), _cut(score, flags))


def _cut(score: NDArray[np.float32], flags: NDArray[np.bool_]) -> float | None:
    if flags.all() or not flags.any():
        return None
    below, above = float(score[flags].max()), float(score[~flags].min())
    return (below + above) / 2 if below <= above else None


def _budgets(p_corrupted: NDArray[np.float32]) -> list[Budget]:
    found = np.cumsum(-np.sort(-p_corrupted), dtype=np.float64)  # [n]
    sizes = [size for size in _BUDGETS if size < len(found)] + [len(found)]
    return [Budget(size, float(found[size - 1])) for size in sizes]
