"""Several labels a row: every class is a question of its own, yes or no, to the same neighbours.

The neighbours are searched once. Class by class the column of zeros and ones is judged like any
labels of two classes, with its own T. A corrupted 0 is a missing label, a corrupted 1 an extra one.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from simifeat.dataset import check_ids, check_lengths, feature_matrix, hash_array
from simifeat.detect import detect
from simifeat.errors import InputError, NotIdentifiable
from simifeat.label_sets import label_matrix
from simifeat.multilabel_verdicts import MultilabelVerdicts
from simifeat.neighbors import Graph, Neighbors, find_neighbors
from simifeat.settings import Settings
from simifeat.transition import Transition
from simifeat.version import __version__

Progress = Callable[[str, int, int], None]


def detect_multilabel(
    features: ArrayLike | None,
    labels: Any,
    *,
    classes: ArrayLike | None = None,
    neighbors: Neighbors | Graph | None = None,
    ids: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Progress | None = None,
    **choices: Any,
) -> MultilabelVerdicts:
    """Say which labels are missing and which are too many, from ``features`` [n, d] alone.

    ``labels`` is a matrix [n, K] of zeros and ones (an array, a scipy matrix, a data frame), or a
    list of n lists of labels. ``classes`` [K] names the columns; without it a data frame's own
    names, the distinct labels of lists in sorted order, or column numbers. A column of zeros alone
    or of ones alone is not judged. ``choices`` are those of ``detect``, but for epochs of features.
    """
    given, names = label_matrix(labels, classes)  # [n, K], [K]
    n, n_classes = given.shape
    settings = Settings.resolve(
        choices.get("preset"), **{k: c for k, c in choices.items() if k != "preset"}
    )
    row_ids = check_ids(ids, n)
    judged = np.flatnonzero(given.any(axis=0) & ~given.all(axis=0))
    if not len(judged):
        raise InputError(
            f"none of the {n_classes} columns of labels holds both 0 and 1; there is nothing to "
            "compare"
        )
    if neighbors is None:
        if features is None:
            raise InputError("there are no features; give them, or a graph as neighbors=")
        features = feature_matrix(features)
        check_lengths(len(features), n)
    found_once: list[Neighbors] = []

    def search(rows: Any, k: int, *how: Any, **options: Any) -> Neighbors:
        """The neighbours that the first class was judged by."""
        if not found_once:
            found_once.append(find_neighbors(rows, k, *how, **options))
        return found_once[0]

    p_corrupted = np.zeros((n, n_classes), np.float32)
    is_corrupted = np.zeros((n, n_classes), bool)
    transitions: list[Transition | None] = [None] * n_classes
    for done, j in enumerate(judged):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotIdentifiable)  # told once for all classes below
            verdicts = detect(
                features,
                given[:, j].astype(np.int64),
                neighbors=neighbors,
                groups=groups,
                seed=seed,
                n_threads=n_threads,
                search=search,
                progress=progress if done == 0 else None,
                **choices,
            )
        p_corrupted[:, j], is_corrupted[:, j] = verdicts.p_corrupted, verdicts.is_corrupted
        transitions[j] = verdicts.transition
        if progress is not None:
            progress("judging classes", done + 1, len(judged))
    graph = verdicts.neighbors
    assert isinstance(graph, Neighbors)  # of detect, which keeps all
    digest = hashlib.sha256()
    hash_array(digest, given)
    hash_array(digest, graph.index)
    found = MultilabelVerdicts(
        ids=row_ids,
        classes=names,
        labels=given,
        p_corrupted=p_corrupted,
        is_corrupted=is_corrupted,
        transitions=tuple(transitions),
        metadata={
            "version": __version__,
            "settings": settings.to_dict(),
            "seed": seed,
            "fingerprint": digest.hexdigest(),
            "metric": graph.metric,
            "engine": graph.engine,
        },
        neighbors=graph,
    )
    _warn(found)
    return found


def _warn(found: MultilabelVerdicts) -> None:
    """One line for all classes whose noise cannot be told."""
    unknown = [
        str(name)
        for name, t in zip(found.classes, found.transitions, strict=True)
        if t is not None and not t.identifiable
    ]
    if unknown:
        shown = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        warnings.warn(
            f"the noise of {len(unknown)} of {len(found.classes)} classes cannot be told from "
            f"these data ({shown}); their verdicts are guesses",
            NotIdentifiable,
            stacklevel=3,
        )
