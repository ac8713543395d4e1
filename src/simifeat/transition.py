"""The noise transition matrix T and the class prior p, estimated from neighbours' labels alone."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from simifeat.consensus import N_VIEWS, Triples, label_triples, sampled_triples
from simifeat.dataset import Dataset, Labels
from simifeat.errors import InputError, NotIdentifiable
from simifeat.hoc import HocOptions, fit_hoc
from simifeat.identifiability import Agreement, find_reasons
from simifeat.intervals import Intervals
from simifeat.latent_class import MlOptions, fit_latent_class
from simifeat.neighbors import Graph, Metric, Neighbors, as_neighbors, find_neighbors
from simifeat.neighbors.find import Engine

Array = NDArray[np.float64]
Estimator = Literal["ml", "hoc"]
"""Estimators from triples of labels alone."""
AnyEstimator = Literal["beliefs", "ml", "hoc"]


@dataclass(frozen=True, eq=False)
class Transition:
    """How labels come about: T, p, and what was observed of the labels."""

    matrix: Array  # [K, K]
    """T: ``matrix[i, j]`` = P(label = j | true class = i); rows sum to 1."""
    prior: Array  # [K]
    """p: P(true class = i)."""
    label_frequency: Array  # [K]
    """Observed P(label = j)."""
    method: str
    loss: float
    """What the estimator minimised, at its end: not comparable between estimators; 0 if not run."""
    n_triples: int
    """Label triples the estimate rests on."""
    identifiable: bool = True
    reasons: tuple[str, ...] = ()
    """Why the estimate must not be trusted; empty if identifiable."""
    classes: NDArray[Any] | None = None
    """[K] the labels as given, in the order of the rows, where they are known."""
    intervals: Intervals | None = None
    """How sure the estimate is, where that was estimated."""

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return len(self.prior)

    @property
    def posterior(self) -> Array:
        """P(true class = j | label = j) [K] = T[j, j] p[j] / P(label = j), at most 1.

        1 for a class that no example bears: there is no label to doubt.
        """
        right = np.diagonal(self.matrix) * self.prior
        seen = self.label_frequency > 0
        ratio = np.divide(right, self.label_frequency, out=np.ones_like(right), where=seen)
        return np.clip(ratio, 0.0, 1.0)

    @property
    def joint(self) -> Array:
        """P(true class = i, label = j) [K, K]."""
        joint: Array = self.prior[:, None] * self.matrix
        return joint

    @property
    def noise_rate(self) -> float:
        """P(label is corrupted) = 1 - sum_i p_i T[i, i]."""
        right = float((self.prior * np.diagonal(self.matrix)).sum())
        return min(1.0, max(0.0, 1.0 - right))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings for JSON; ``from_dict`` reads them back exactly."""
        stored: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            stored[item.name] = value.tolist() if isinstance(value, np.ndarray) else value
        stored["reasons"] = list(self.reasons)
        stored["intervals"] = None if self.intervals is None else self.intervals.to_dict()
        return stored

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Transition:
        """Rebuild what ``to_dict`` gave; versions before 0.2 stored no intervals."""
        intervals = stored.get("intervals")
        known = {**stored, "intervals": intervals and Intervals.from_dict(intervals)}
        try:
            values = {item.name: known[item.name] for item in fields(cls)}
        except KeyError as error:
            raise InputError(f"a stored transition lacks the entry {error}") from error
        for name in ("matrix", "prior", "label_frequency"):
            values[name] = np.asarray(values[name], dtype=np.float64)
        values["reasons"] = tuple(values["reasons"])
        if values["classes"] is not None:
            given = values["classes"]
            text = any(isinstance(value, str) for value in given)
            values["classes"] = np.array(given, dtype=object if text else None)
        return cls(**values)

    def warn(self, stacklevel: int = 2) -> None:
        """Issue ``NotIdentifiable`` with the reasons, if there are any."""
        if not self.identifiable:
            text = "the noise transition cannot be identified: " + "; ".join(self.reasons)
            warnings.warn(text, NotIdentifiable, stacklevel=stacklevel + 1)


def estimate_transition(
    features: Any,
    labels: Any,
    method: AnyEstimator = "beliefs",
    *,
    metric: Metric = "cosine",
    engine: Engine = "auto",
    neighbors: Neighbors | Graph | None = None,
    seed: int | np.random.SeedSequence = 0,
    n_threads: int | None = None,
    **options: Any,
) -> Transition:
    """Estimate T and p from ``features`` [n, d] and given ``labels`` [n] of any one type.

    ``method`` is "beliefs" (``simifeat.mend``: the best, with intervals), or one of those that see
    triples of labels alone and count neighbours of another class as noise: "ml" (maximum
    likelihood) or "hoc", the paper's. ``options`` are the fields of ``MlOptions`` ("beliefs"
    starts from "ml") or ``HocOptions``. With ``neighbors``, a graph that is already there,
    features may be None.
    Issues ``NotIdentifiable`` where the estimate must not be trusted.
    """
    from simifeat.mend import N_NEIGHBORS, mend  # it builds on this module

    encoded = Labels.encode(labels)
    root = np.random.SeedSequence(seed) if isinstance(seed, int | np.integer) else seed
    search_seed, estimate_seed = root.spawn(2)
    if neighbors is None:
        data = Dataset.from_arrays(features, encoded)
        graph = find_neighbors(
            data.features,
            N_NEIGHBORS
            if method == "beliefs"
            else _n_searched(options.get("sample_size"), data.n_examples),
            metric,
            engine,
            n_threads=n_threads,
            seed=int(search_seed.generate_state(1)[0]),
        )
    else:
        encoded.check_two_classes()
        graph = as_neighbors(neighbors, len(encoded.codes))
    result = estimate_from_neighbors(
        encoded.codes,
        graph.index,
        encoded.n_classes,
        "ml" if method == "beliefs" else method,
        classes=encoded.classes,
        options=options,
        seed=estimate_seed,
    )
    if method == "beliefs":
        result = mend(encoded.codes, graph, result)
    result.warn()
    return result


def estimate_from_neighbors(
    labels: NDArray[np.integer],
    index: NDArray[np.integer],
    n_classes: int,
    method: Estimator = "ml",
    *,
    classes: NDArray[Any] | None = None,
    options: Mapping[str, Any] = MappingProxyType({}),
    warm_start: Transition | None = None,
    seed: np.random.SeedSequence | None = None,
) -> Transition:
    """Estimate T and p from label codes [n] and a neighbour index [n, k], k of at least 2.

    ``options`` are fields of ``MlOptions`` or ``HocOptions`` by name; ``warm_start`` is an earlier
    estimate to start from; ``seed`` drives what the method draws.

    Marks what is not identifiable and says why in ``reasons``, but issues no warning: callers do,
    once, with ``Transition.warn``.
    """
    chosen = _read_options(method, options)
    rng = np.random.default_rng(np.random.SeedSequence(0) if seed is None else seed)
    if isinstance(chosen, HocOptions) and chosen.sample_size is not None:
        found = sampled_triples(labels, index, chosen.sample_size, chosen.n_samples, rng)
    else:
        found = label_triples(labels, index)
    return _estimate(Triples.count(found, n_classes), method, chosen, classes, warm_start, rng)


def estimate_from_triples(
    triples: Triples,
    method: Estimator = "ml",
    *,
    classes: NDArray[Any] | None = None,
    options: Mapping[str, Any] = MappingProxyType({}),
    warm_start: Transition | None = None,
    seed: np.random.SeedSequence | None = None,
) -> Transition:
    """Estimate T and p from counted label triples, as ``estimate_from_neighbors`` does."""
    rng = np.random.default_rng(np.random.SeedSequence(0) if seed is None else seed)
    return _estimate(triples, method, _read_options(method, options), classes, warm_start, rng)


def _estimate(
    triples: Triples,
    method: str,
    options: MlOptions | HocOptions,
    classes: NDArray[Any] | None,
    warm_start: Transition | None,
    rng: np.random.Generator,
) -> Transition:
    agreement = Agreement.measure(triples)
    start = None if warm_start is None else (warm_start.matrix, warm_start.prior)
    if agreement.is_chance:
        matrix, prior, loss = (
            np.eye(triples.n_classes),
            triples.first_order(),
            0.0,
        )  # doubt no label
    elif isinstance(options, HocOptions):
        matrix, prior, loss = fit_hoc(triples, options, start, rng)
    else:
        fit = fit_latent_class(triples, agreement, options, start)
        matrix, prior, loss = fit.support.dense(fit.model), fit.model.prior, fit.loss
    reasons = find_reasons(matrix, triples, agreement, classes)
    return Transition(
        matrix=matrix,
        prior=prior,
        label_frequency=triples.first_order(),
        method=method,
        loss=loss,
        n_triples=triples.n_triples,
        identifiable=not reasons,
        reasons=reasons,
        classes=None if classes is None else np.asarray(classes),
    )


def _n_searched(sample_size: Any, n_examples: int) -> int:
    """Neighbours to search so that nearly every example of a sample finds two inside it."""
    if not isinstance(sample_size, int) or not 0 < sample_size < n_examples:
        return N_VIEWS - 1
    return int(np.ceil(6 * n_examples / sample_size))


def _read_options(method: str, given: Mapping[str, Any]) -> MlOptions | HocOptions:
    """The options of ``method`` with the named values ``given``; refuses what it does not know."""
    if method not in get_args(Estimator):
        raise InputError(f"unknown estimator {method!r}; choose one of 'beliefs', 'ml', 'hoc'")
    kind = HocOptions if method == "hoc" else MlOptions
    known = [item.name for item in fields(kind)]
    for name, value in given.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise InputError(f"the transition estimator {method!r} has no option {name!r}; {hint}")
        if value is not None and not (isinstance(value, int | float) and value >= 0):
            raise InputError(f"{name} is {value!r}; give a number of at least 0")
    return kind(**given)
