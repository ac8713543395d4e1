"""The detector, Algorithm 1 whole: features and labels in, verdicts out. Only this orchestrates."""

from __future__ import annotations

import difflib
import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from simifeat.dataset import (
    Dataset,
    Labels,
    check_ids,
    feature_matrix,
    hash_array,
    hash_labels,
)
from simifeat.errors import InputError
from simifeat.groups import copies_of, group_codes, make_kin
from simifeat.judge import Judge
from simifeat.neighbors import Graph, Neighbors, as_neighbors, find_neighbors
from simifeat.neighbors.parallel import usable_threads
from simifeat.rounds import rounds_of_everybody
from simifeat.settings import SETTING_NAMES, Settings
from simifeat.transition import Transition
from simifeat.verdicts import Verdicts
from simifeat.version import __version__

Progress = Callable[[str, int, int], None]
"""Told the stage, how much of it is done, and how much there is."""
Seed = int | np.random.SeedSequence


def detect(
    features: ArrayLike | Iterable[ArrayLike] | None,
    labels: ArrayLike,
    *,
    preset: str | None = None,
    method: str | None = None,
    k: int | None = None,
    n_epochs: int | None = None,
    metric: str | None = None,
    engine: str | None = None,
    weights: str | None = None,
    center: str | None = None,
    transition: str | Transition | None = None,
    neighbors: Neighbors | Graph | None = None,
    ids: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    seed: Seed = 0,
    budget: int | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    search: Callable[..., Neighbors] | None = None,
    **choices: Any,
) -> Verdicts:
    """Say which of ``labels`` [n] are corrupted, from ``features`` [n, d] alone.

    ``features`` may also be several epochs of them, [M, n, d] or M arrays [n, d] one after the
    other, extracted under different augmentations: each is a round, and they are consumed one by
    one. With one array the M = ``n_epochs`` rounds differ by sub-sampling, see
    ``simifeat.rounds``. With ``neighbors``, a graph that is already there, ``features`` may be
    None.

    ``labels`` may be of any one type and come back as given. ``transition`` is an estimator
    (``"ml"``, ``"hoc"``) or a known ``Transition``. ``preset`` is ``"paper"`` or ``"official"``.
    Rows of one of ``groups`` [n] do not vote for each other, nor do copies of one example, see
    ``simifeat.groups``.
    ``search`` takes the place of ``find_neighbors``, see ``simifeat.adding``.
    ``budget`` is how many labels can be reviewed: the summary says how many of the most suspicious
    are corrupted, see ``Verdicts.expected_yield``.
    ``choices`` are the further fields of ``simifeat.settings.Settings``.

    The same input, seed and version give the same verdicts to the byte, on any number of threads.
    """
    settings = Settings.resolve(
        preset,
        method=method,
        k=k,
        n_epochs=n_epochs,
        metric=metric,
        engine=engine,
        weights=weights,
        center=center,
        transition=None if isinstance(transition, Transition) else transition,
        **_known_names(choices),
    )
    if budget is not None and (not isinstance(budget, int | np.integer) or budget < 1):
        raise InputError(f"budget is {budget!r}; give a whole number of at least 1")
    encoded = Labels.encode(labels)
    root = np.random.SeedSequence(seed) if isinstance(seed, int | np.integer) else seed
    search_seed, judge_seed = root.spawn(2)
    judge = Judge(
        encoded,
        settings,
        transition if isinstance(transition, Transition) else None,
        judge_seed,
        usable_threads(n_threads),
    )
    digest = hashlib.sha256()
    hash_labels(digest, encoded)
    engines: dict[str, Any] = {}
    group_of = None if groups is None else group_codes(groups, len(encoded.codes))
    if settings.probe:
        _check_probe(features)
    if neighbors is not None:
        names = check_ids(ids, len(encoded.codes))
        graph = as_neighbors(neighbors, len(encoded.codes))
        hash_array(digest, graph.index)
        engines = engine_of(graph)
        kin = make_kin(group_of, None)
        if kin.codes:
            graph = kin.drop(graph, judge.n_searched)
            engines["kept_apart"] = kin.counts_left(graph, settings.n_neighbors)
        judge.epoch(graph, judge.rounds(), _stage(progress, "judging"))
    else:
        one, epochs = _epochs(features)
        wanted = judge.n_searched if one else max(settings.n_neighbors, 2)
        for each in epochs:
            dataset = Dataset.from_arrays(each, encoded, ids)
            names = dataset.ids
            hash_array(digest, dataset.features)
            seen = dataset.features[: settings.max_rows]
            copies = copies_of(seen, wanted) if settings.duplicates == "apart" else None
            kin = make_kin(None if group_of is None else group_of[: len(seen)], copies)
            graph = (search or find_neighbors)(
                seen,
                kin.n_searched(wanted, len(seen)),
                settings.metric,
                settings.engine,
                n_threads=n_threads,
                seed=int(search_seed.generate_state(1)[0]),
                progress=_stage(progress, "neighbours"),
            )
            engines = engine_of(graph)
            if kin.codes:
                graph = kin.drop(graph, wanted)
                engines["kept_apart"] = kin.counts_left(graph, settings.n_neighbors)
            rounds = judge.rounds() if one else rounds_of_everybody(1)
            judge.epoch(graph, rounds, _stage(progress, "judging"), seen)
    if settings.probe:
        _join_probe(judge, features, root.spawn(1)[0])
    judge.transition.warn(stacklevel=2)
    return judge.verdicts(
        names,
        {
            "version": __version__,
            "settings": settings.to_dict(),
            "seed": int(root.entropy) if isinstance(root.entropy, int) else None,
            "fingerprint": digest.hexdigest(),
            **({} if budget is None else {"budget": int(budget)}),
            **engines,
        },
    )


def _known_names(choices: dict[str, Any]) -> dict[str, Any]:
    for name in choices:
        if name not in SETTING_NAMES:
            near = difflib.get_close_matches(name, SETTING_NAMES, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(SETTING_NAMES)}"
            raise InputError(f"detect has no setting {name!r}; {hint}")
    return choices


def _epochs(features: Any) -> tuple[bool, Iterable[ArrayLike]]:
    """Whether ``features`` is one fixed set, and the sets one after the other."""
    if features is None:
        raise InputError("there are no features; give them, or a graph as neighbors=")
    if isinstance(features, Iterator):
        first = next(features, None)
        if first is None:
            raise InputError("features came in 0 epochs; give at least one")
        return False, itertools.chain([first], features)
    if getattr(features, "ndim", 0) == 3 or (
        isinstance(features, list | tuple) and features and getattr(features[0], "ndim", 0) == 2
    ):
        return False, features
    return True, [features]


def _check_probe(features: Any) -> None:
    """A probe is trained on one array of features."""
    if features is None or not _epochs(features)[0]:
        raise InputError(
            "probe=True trains on one array of features [n, d]; give that, and no epochs or graph "
            "alone"
        )


def _join_probe(judge: Judge, features: Any, seed: np.random.SeedSequence) -> None:
    """Let the judge's beliefs be joined with what a probe on ``features`` says."""
    from simifeat.probe import joined_with_probe

    table = feature_matrix(features)
    codes, matrix = judge.labels.codes, judge.transition.matrix
    judge.revise = lambda beliefs: joined_with_probe(beliefs, table, codes, matrix, seed)


def engine_of(graph: Neighbors) -> dict[str, Any]:
    """What the metadata of verdicts say of the search."""
    return {
        "metric": graph.metric,
        "engine": graph.engine,
        "engine_reason": graph.reason,
        "recall": graph.recall,
    }


def _stage(progress: Progress | None, stage: str) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(stage, done, total)
