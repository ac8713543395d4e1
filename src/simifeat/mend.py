"""The noise rate and T with foreign neighbours taken out, and noise that grows with doubt put in.

Triples of labels count a neighbour of another true class as label noise. Here T comes from the own
labels given what the neighbours believe (``simifeat.own_labels``), which is right where T is the
same everywhere. It is too low where the label depends on the example, as people's do: a cat that
looks like a dog has dogs around it, is called a dog, and passes for one. Some of this shows: the
rate then grows from the most certain neighbourhoods of a class to all of it. As much again is taken
to be hidden. ``docs/noise.md`` says how far that can be trusted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simifeat.beliefs import Beliefs
from simifeat.intervals import jackknife, make_intervals, neighborhood_groups
from simifeat.neighbors.base import Neighbors
from simifeat.own_labels import Fit, OwnLabels
from simifeat.propagate import PropagateOptions, propagate
from simifeat.surroundings import surroundings
from simifeat.transition import Transition

Array = NDArray[np.float64]

N_NEIGHBORS = 30
"""Neighbours that are asked, where there are so many."""
_OPTIONS = PropagateOptions(power=8.0, sharpness=1.5, n_rounds=8)
_PSEUDO_COUNT = 3.0
_MAX_STEPS, _TOLERANCE = 100, 1e-4
_CERTAIN = 0.2  # the share of examples whose neighbours are surest: there the truth shows
_HIDDEN = 1.0  # chosen on CIFAR-10's label sets, people's and synthetic
_SLACK = 0.25  # what impure neighbourhoods leave open, at full doubt about every one of them
_N_SIGMAS = 2.0  # growth of the rate below so many standard errors is none


def mend(
    labels: NDArray[np.int32],
    neighbors: Neighbors,
    start: Transition,
    beliefs: Beliefs | None = None,
) -> Transition:
    """T and p from label codes [n] and their ``neighbors``, starting from another estimate.

    ``beliefs`` are what ``propagate`` gives for ``start``, where they are there already.
    """
    k = start.n_classes
    if (np.diagonal(start.matrix) == 1).all():  # nothing to be known, or nothing wrong
        return replace(start, method="beliefs")
    near = neighbors.first(N_NEIGHBORS)
    if beliefs is None:
        beliefs = propagate(labels, near, start.matrix, start.prior, _OPTIONS).beliefs
    around = surroundings(near, beliefs, k, _OPTIONS)
    heard = around.classes[:, 0] >= 0  # [n], has neighbours
    if not heard.all():
        labels = labels[heard]
        around = Beliefs(around.classes[heard], around.probability[heard])
    own = OwnLabels(labels, around, (1 - start.noise_rate, start.label_frequency), _PSEUDO_COUNT)
    fit = own.fit(own.of_dense(start.matrix), _MAX_STEPS, _TOLERANCE)
    plain, prior = own.dense(fit), fit.by_class / fit.by_class.sum()
    hidden = _HIDDEN * _growth(labels, around, fit)
    matrix = _with_look_alikes(own, fit, around, plain, hidden)
    doubt = 1 - float(around.probability[:, 0].mean())
    unseen = np.hypot(hidden, _SLACK * doubt**2)
    by_class = np.hypot(np.diagonal(plain) - np.diagonal(matrix), _SLACK * doubt**2)
    groups = neighborhood_groups(near.index)[heard]
    intervals = make_intervals(
        matrix, prior, own, jackknife(own, fit, groups), (float(unseen), by_class)
    )
    return replace(start, matrix=matrix, prior=prior, method="beliefs", intervals=intervals)


def _growth(labels: NDArray[np.int32], around: Beliefs, fit: Fit) -> float:
    """By how much the noise rate of all exceeds that of the most certain neighbourhoods.

    Those are a fifth of each class, since classes differ in both. 0 where chance alone could do
    it, and shrunk towards 0 where chance may have a part.
    """
    doubt = 1 - (fit.belief * (around.classes == labels[:, None])).sum(axis=1)  # [n]
    cls, certainty = around.classes[:, 0], around.probability[:, 0]
    order = np.lexsort((-certainty, cls))
    size = np.bincount(cls)  # [K], by what the neighbours say
    within = np.arange(len(cls)) - np.repeat(np.cumsum(size) - size, size)  # place in its class
    n_certain = np.ceil(_CERTAIN * size)  # [K]
    certain = order[within < np.repeat(n_certain, size)]
    total = np.bincount(cls[certain], weights=doubt[certain], minlength=len(size))
    n_certain = np.maximum(n_certain, 1)
    rate, share = total / n_certain, size / len(cls)  # [K] each
    growth = float(doubt.mean() - share @ rate)
    variance = np.maximum(rate, 1 / n_certain) * np.maximum(1 - rate, 1 / n_certain) / n_certain
    error = float(np.sqrt(share**2 @ variance))
    return growth * max(0.0, 1 - (_N_SIGMAS * error / growth) ** 2) if growth > 0 else 0.0


def _with_look_alikes(
    own: OwnLabels, fit: Fit, around: Beliefs, plain: Array, hidden: float
) -> Array:
    """T = ``plain`` [K, K] with the noise rate raised by ``hidden``: flips to what looks alike.

    A class takes part by how much of its surroundings is foreign.
    """
    matrix = plain.copy()
    looks = own.confusion(fit.belief, around.classes)  # [K, K]
    looks.setdiag(0)
    foreign = np.asarray(looks.sum(axis=1), np.float64)  # [K], examples
    if not hidden or not foreign.sum():
        return matrix
    share = hidden * own.around.shape[0] * foreign / foreign.sum()  # [K], examples
    moved = np.minimum(share / np.maximum(fit.by_class, 1.0), 0.9 * np.diagonal(matrix))
    scale = np.divide(moved, foreign, out=np.zeros_like(moved), where=foreign > 0)
    looks = looks.tocoo()
    matrix[np.diag_indices(len(matrix))] -= np.where(foreign > 0, moved, 0)
    np.add.at(matrix, (looks.row, looks.col), scale[looks.row] * looks.data)
    return matrix
