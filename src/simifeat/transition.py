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

from simifeat.consensus import Triples, label_triples
from simifeat.errors import InputError, NotIdentifiable
from simifeat.identifiability import Agreement, find_reasons
from simifeat.latent_class import Centre, Fit, MlOptions, fit_latent_class
from simifeat.triple_sums import TripleSummer

Array = NDArray[np.float64]
Estimator = Literal["ml", "hoc"]


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
        return stored

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Transition:
        """Rebuild what ``to_dict`` gave."""
        try:
            values = {item.name: stored[item.name] for item in fields(cls)}
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
    similarity: NDArray[np.floating] | None = None,
) -> Transition:
    """Estimate T and p from label codes [n] and a neighbour index [n, k], k of at least 2.

    ``options`` are the fields of the method's options by name. ``warm_start`` is an earlier
    estimate to start from.

    Marks what is not identifiable and says why in ``reasons``, but issues no warning: callers do,
    once, with ``Transition.warn``.
    """
    triples = Triples.count(label_triples(labels, index), n_classes)
    return estimate_from_triples(
        triples, method, classes=classes, options=options, warm_start=warm_start
    )


def estimate_from_triples(
    triples: Triples,
    method: Estimator = "ml",
    *,
    classes: NDArray[Any] | None = None,
    options: Mapping[str, Any] = MappingProxyType({}),
    warm_start: Transition | None = None,
) -> Transition:
    """Estimate T and p from counted label triples, as ``estimate_from_neighbors`` does."""
    if method not in get_args(Estimator):
        raise InputError(f"unknown estimator {method!r}; choose one of 'ml', 'hoc'")
    chosen = _read_options(MlOptions, options, method) if method == "ml" else MlOptions()
    agreement = Agreement.measure(triples)
    centre = agreement.symmetric_model()
    if agreement.is_chance:
        fit = Fit(centre.matrix, triples.first_order(), 0.0, 0, False)  # no label is doubted
    else:
        start = centre if warm_start is None else Centre(warm_start.matrix, warm_start.prior)
        fit = fit_latent_class(TripleSummer(triples), start, centre, chosen)
    reasons = find_reasons(fit.matrix, triples, agreement, classes)
    return Transition(
        matrix=fit.matrix,
        prior=fit.prior,
        label_frequency=triples.first_order(),
        method=method,
        loss=fit.loss,
        n_triples=triples.n_triples,
        identifiable=not reasons,
        reasons=reasons,
        classes=None if classes is None else np.asarray(classes),
    )


def _read_options(kind: type[MlOptions], given: Mapping[str, Any], method: str) -> MlOptions:
    """``kind`` with the named values ``given``; an unknown name is refused with the nearest one."""
    known = [item.name for item in fields(kind)]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise InputError(f"the transition estimator {method!r} has no option {name!r}; {hint}")
    return kind(**given)
