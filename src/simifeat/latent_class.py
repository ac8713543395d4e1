"""Maximum likelihood for the latent class model of label triples, by accelerated EM.

A triple (a, b, c) is a draw from sum_i p_i T[i, a] T[i, b] T[i, c]: three labels given
independently by one true class. HOC matches the moments of that model; this maximises its
likelihood over the observed triples, with a weak prior that keeps small samples sane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simifeat.triple_sums import TripleSummer

Array = NDArray[np.float64]

_FLOOR = 1e-12  # probabilities stay above it, so that no class can lose a label for good


@dataclass(frozen=True)
class MlOptions:
    """Settings of the maximum-likelihood estimator."""

    max_passes: int = 500
    """At most so many sums over the triples; two and a check make one accelerated step."""
    tolerance: float = 1e-6
    """Stop when no entry of T or p moved further than this in one EM step."""
    pseudo_count: float = 3.0
    """Labels a class that the prior mean is worth; 0 is plain maximum likelihood."""


class Fit(NamedTuple):
    """What an optimiser hands back: T [K, K], p [K], objective reached, whether it settled."""

    matrix: Array
    prior: Array
    loss: float
    n_passes: int
    converged: bool


class Centre(NamedTuple):
    """Mean of the Dirichlet prior over the rows of T, and over p."""

    matrix: Array  # [K, K]
    prior: Array  # [K]


def fit_latent_class(sums: TripleSummer, start: Centre, centre: Centre, options: MlOptions) -> Fit:
    """Maximise the posterior of (T, p) given the triples; ``loss`` is its negative per triple.

    Steps are SQUAREM's (Varadhan and Roland 2008): two EM steps, an extrapolation along them, kept
    only if the objective does not fall.
    """
    here = Centre(*(_simplex(np.array(part)) for part in start))
    n_passes, converged = 0, False
    objective, best = -np.inf, here
    while n_passes < options.max_passes:
        once, value = _em_step(sums, here, centre, options.pseudo_count)
        n_passes += 1
        if value < objective:  # the extrapolation overshot: go on from where EM alone had led
            here, objective = best, -np.inf
            continue
        objective = value
        first = _difference(once, here)
        if _largest(first) < options.tolerance:
            here, converged = once, True
            break
        twice, _ = _em_step(sums, once, centre, options.pseudo_count)
        n_passes += 1
        best = twice
        second = _difference(twice, once)
        here = _extrapolate(here, first, _difference(second, first), twice)
    _, value = _em_step(sums, here, centre, options.pseudo_count)
    if not converged and value < objective:
        here, value = best, objective
    return Fit(here.matrix, here.prior, -value / max(sums.n_triples, 1), n_passes, converged)


def _em_step(
    sums: TripleSummer, here: Centre, centre: Centre, pseudo_count: float
) -> tuple[Centre, float]:
    """One EM step and the log posterior of the point it starts from."""
    expected = sums(here.matrix, here.prior, normalized=True)
    matrix = expected.by_label.T + pseudo_count * centre.matrix  # [class, label]
    prior = expected.by_class + pseudo_count * centre.prior
    value = expected.total
    if pseudo_count:
        value += pseudo_count * float((centre.matrix * np.log(here.matrix)).sum())
        value += pseudo_count * float((centre.prior * np.log(here.prior)).sum())
    return Centre(_simplex(matrix), _simplex(prior)), value


def _extrapolate(here: Centre, first: Centre, bend: Centre, twice: Centre) -> Centre:
    """SQUAREM's third step length; never shorter than the two EM steps themselves."""
    length = _norm(first) / max(_norm(bend), _FLOOR)
    if length <= 1.0:
        return twice
    moved = (
        x + 2 * length * step + length**2 * turn
        for x, step, turn in zip(here, first, bend, strict=True)
    )
    return Centre(*(_simplex(part) for part in moved))


def _simplex(weights: Array) -> Array:
    """Clip from below and divide by the row sums."""
    clipped = np.maximum(weights, _FLOOR * np.maximum(weights.sum(axis=-1, keepdims=True), _FLOOR))
    clipped /= clipped.sum(axis=-1, keepdims=True)
    return clipped


def _difference(a: Centre, b: Centre) -> Centre:
    return Centre(a.matrix - b.matrix, a.prior - b.prior)


def _largest(step: Centre) -> float:
    return max(float(np.abs(part).max()) for part in step)


def _norm(step: Centre) -> float:
    return float(np.sqrt(sum(float((part * part).sum()) for part in step)))
