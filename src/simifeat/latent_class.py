"""Maximum likelihood for the latent class model of label triples, by accelerated EM.

A triple (a, b, c) is a draw from sum_i p_i T[i, a] T[i, b] T[i, c]: three labels given
independently by one true class. HOC matches the moments of that model; this maximises its
likelihood over the observed triples, with T in the few numbers of ``simifeat.support`` and a weak
prior that keeps small samples sane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simifeat.consensus import N_VIEWS, Triples
from simifeat.identifiability import Agreement
from simifeat.sparse_sums import SparseSummer
from simifeat.support import Model, Support, count_pairs, find_support
from simifeat.triple_sums import DenseSummer, Expected

Array = NDArray[np.float64]
Summer = Callable[[Model], Expected]

_FLOOR = 1e-12  # probabilities stay above it, so that no class can lose a label for good
_N_SUPPORTS = 2  # the support is found against the background that fits without one, then again
_ROUGH = 1e-3  # tolerance of the fits before the last
_TERM_COST = 12  # a term of the sparse sums takes as long as so many of the dense ones


@dataclass(frozen=True)
class MlOptions:
    """Settings of the maximum-likelihood estimator."""

    max_passes: int = 500
    """At most so many sums over the triples; two and a check make one accelerated step."""
    tolerance: float = 1e-4
    """Stop when no entry of T or p moved further than this in one EM step."""
    pseudo_count: float = 3.0
    """Labels a class that the prior mean is worth; 0 is plain maximum likelihood."""


class LatentClassFit(NamedTuple):
    """The model found, on which support, and how it was reached."""

    support: Support
    model: Model
    loss: float
    """Negative log posterior per triple."""
    n_passes: int
    converged: bool


def fit_latent_class(
    triples: Triples,
    agreement: Agreement,
    options: MlOptions,
    start: tuple[Array, Array] | None = None,
) -> LatentClassFit:
    """Maximise the posterior of (T, p) given the triples, from ``start`` (T, p) if there is one."""
    k = triples.n_classes
    kept, frequency = agreement.kept, _simplex(agreement.frequency)
    pairs = count_pairs(triples)
    nobody = np.empty(0, dtype=np.int64)
    support = Support.of_pairs(nobody, nobody, k)
    model = _centre(support, kept, frequency)
    if start is not None:
        model = support.of_dense(start[0], start[1], frequency)
    n_passes = 0
    for attempt in range(1 + _N_SUPPORTS):
        if attempt:
            right = model.values[support.diagonal]
            found = find_support(pairs, right, support.spread(model), model)
            model, support = _centre(found, kept, frequency), found
        last = attempt == _N_SUPPORTS
        fit = maximise(
            make_summer(triples, support),
            support,
            _floored(support, model),
            _centre(support, kept, frequency),
            options.pseudo_count,
            options.tolerance if last or not attempt else max(_ROUGH, options.tolerance),
            options.max_passes,
        )
        model, n_passes = fit.model, n_passes + fit.n_passes
    return fit._replace(loss=fit.loss / max(triples.n_triples, 1), n_passes=n_passes)


def make_summer(triples: Triples, support: Support) -> Summer:
    """The sums over ``triples``, whichever way is the quicker."""
    per_label = np.bincount(support.columns, minlength=support.n_classes)
    terms = int(per_label[triples.labels].sum())  # at most
    if terms * _TERM_COST < len(triples.counts) * support.n_classes:
        return SparseSummer(triples, support)
    return DenseSummer(triples, support)


def maximise(
    summer: Summer,
    support: Support,
    start: Model,
    centre: Model,
    pseudo_count: float,
    tolerance: float,
    max_passes: int,
) -> LatentClassFit:
    """The mode of the posterior near ``start``; ``loss`` is its negative logarithm.

    Steps are SQUAREM's (Varadhan and Roland 2008): two EM steps, an extrapolation along them, kept
    only if the objective does not fall.
    """
    here, best = start, start
    n_passes, converged, objective = 0, False, -np.inf
    while n_passes < max_passes:
        once, value = _em_step(summer, support, here, centre, pseudo_count)
        n_passes += 1
        if value < objective:  # the extrapolation overshot: go on from where EM alone had led
            here, objective = best, -np.inf
            continue
        objective = value
        first = _minus(once, here)
        if _largest(first) < tolerance:
            here, converged = once, True
            break
        twice, _ = _em_step(summer, support, once, centre, pseudo_count)
        n_passes += 1
        best = twice
        here = _extrapolate(support, here, first, _minus(_minus(twice, once), first), twice)
    _, value = _em_step(summer, support, here, centre, pseudo_count)
    if not converged and value < objective:
        here, value = best, objective
    return LatentClassFit(support, here, -value, n_passes, converged)


def _em_step(
    summer: Summer, support: Support, here: Model, centre: Model, pseudo_count: float
) -> tuple[Model, float]:
    """One EM step and the log posterior of the point it starts from.

    The background is the maximiser of sum_i sum_a N_ia log(g_a / G_i), G_i the share that row i
    leaves open, which one step g_a = sum_i N_ia / sum_i (N_i / G_i) climbs (a minorising step).
    """
    found = summer(here)
    off = np.maximum(N_VIEWS * found.by_class - support.by_row(found.on_support), 0.0)  # [K]
    demand = off / np.where(here.rest > 0, here.rest, 1.0) * support.spread(here)  # [K], N_i / G_i
    demand = demand.sum() - support.by_column(demand[support.rows])  # [K]
    background = (found.off_support + pseudo_count * centre.background) / np.maximum(
        demand + pseudo_count, _FLOOR
    )
    step = Model(
        found.on_support + pseudo_count * centre.values,
        off + pseudo_count * centre.rest,
        background,
        found.by_class + pseudo_count * centre.prior,
    )
    value = found.likelihood
    if pseudo_count:
        value += pseudo_count * sum(
            float((weight * np.log(np.maximum(part, _FLOOR))).sum())
            for weight, part in zip(centre, here, strict=True)
        )
    return _floored(support, step), value


def _centre(support: Support, kept: float, frequency: Array) -> Model:
    """Mean of the prior: labels are kept, or else drawn from ``frequency`` whatever the class."""
    values = (1 - kept) * frequency[support.columns]
    values[support.diagonal] += kept
    rest = np.maximum(1 - support.by_row(values), 0.0)
    return support.open_rest(Model(values, rest, frequency, frequency))


def _extrapolate(support: Support, here: Model, first: Model, bend: Model, twice: Model) -> Model:
    """SQUAREM's third step length; never shorter than the two EM steps themselves."""
    length = _norm(first) / max(_norm(bend), _FLOOR)
    if length <= 1.0:
        return twice
    moved = (
        x + 2 * length * step + length**2 * turn
        for x, step, turn in zip(here, first, bend, strict=True)
    )
    return _floored(support, Model(*moved))


def _floored(support: Support, model: Model) -> Model:
    """Everything above the floor, every row of T, g and p summing to 1."""
    total = np.maximum(support.by_row(model.values) + model.rest, _FLOOR)
    values = np.maximum(model.values, _FLOOR * total[support.rows])
    rest = np.maximum(model.rest, _FLOOR * total)
    background, prior = _simplex(model.background), _simplex(model.prior)
    return support.open_rest(Model(values, rest, background, prior))


def _simplex(weights: Array) -> Array:
    """Clip from below and divide by the sum."""
    clipped = np.maximum(weights, _FLOOR * max(float(weights.sum()), _FLOOR))
    return clipped / clipped.sum()


def _minus(a: Model, b: Model) -> Model:
    return Model(*(x - y for x, y in zip(a, b, strict=True)))


def _largest(step: Model) -> float:
    return max(float(np.abs(part).max()) for part in step)


def _norm(step: Model) -> float:
    return float(np.sqrt(sum(float((part * part).sum()) for part in step)))
