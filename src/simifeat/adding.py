"""A run that rows can be added to: what was searched is kept, and only what changed is searched.

Searching neighbours takes nearly all the time of a run, and new rows change few of them. Judging is
done again for everybody: T, p and with them every verdict depend on all rows. So a run with rows
added says what a run on all of them would have said from the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.dataset import check_ids, check_lengths, feature_matrix, label_array
from simifeat.detect import detect
from simifeat.errors import InputError
from simifeat.io import exact_json
from simifeat.io.atomic import replacing
from simifeat.io.reading import reading
from simifeat.neighbors import Neighbors, find_neighbors
from simifeat.neighbors.grow import grow
from simifeat.verdicts import Verdicts

FORMAT = "simifeat run"
_MOST_GROWTH = 1.25  # beyond it a full search, which looks at each pair once, is sooner done
_ARRAYS = ("features", "labels", "ids", "groups")


@dataclass(frozen=True, eq=False)
class Run:
    """Data, choices and neighbours of a run of ``detect``; ``verdicts`` is what it says.

    ``choices`` are those of ``detect``: features of one epoch, in memory.
    """

    features: NDArray[np.float32]  # [n, d]
    labels: NDArray[Any]  # [n]
    ids: NDArray[Any]  # [n]
    groups: NDArray[Any] | None = None  # [n]
    choices: Mapping[str, Any] = field(default_factory=dict)
    graph: Neighbors | None = None
    """Neighbours as they were searched, before groups and copies are dropped."""
    touched: NDArray[np.int64] | None = None
    """Old rows whose neighbours the rows added last changed; None where all were searched."""

    @classmethod
    def start(
        cls,
        features: ArrayLike,
        labels: ArrayLike,
        *,
        ids: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **choices: Any,
    ) -> Run:
        """Search the neighbours of ``features`` [n, d] and judge ``labels`` [n]."""
        for name in ("neighbors", "search", "transition"):
            if not isinstance(choices.get(name), str | None):
                raise InputError(f"a run that rows can be added to takes no {name}= of yours")
        matrix = feature_matrix(features)
        run = cls(
            matrix,
            label_array(labels),
            check_ids(ids, len(matrix)),
            None if groups is None else np.asarray(groups),
            choices,
        )
        return run._judged()

    @cached_property
    def verdicts(self) -> Verdicts:
        """The verdicts on all rows."""
        return self._judge()[0]

    def extend(
        self,
        features: ArrayLike,
        labels: ArrayLike,
        *,
        ids: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Run:
        """The run with rows added: equal to one on all rows from the start.

        After an approximate search the new rows are compared with all others, the old ones are
        not searched again: this finds at least as many of the true neighbours as before.
        """
        matrix, given = feature_matrix(features), label_array(labels)
        check_lengths(len(matrix), len(given))
        if matrix.shape[1] != self.features.shape[1]:
            raise InputError(
                f"the rows to add have {matrix.shape[1]} features, but those of the run have "
                f"{self.features.shape[1]}; give the same features"
            )
        if (groups is None) != (self.groups is None):
            has = "no groups" if self.groups is None else "groups"
            raise InputError(f"the run was made with {has}; give the rows to add the same")
        n, m = len(self.labels), len(matrix)
        names = np.arange(n, n + m) if ids is None else check_ids(ids, m)
        grown = replace(
            self,
            features=np.concatenate([self.features, matrix]),
            labels=_joined(self.labels, given, "labels"),
            ids=_joined(self.ids, names, "ids"),
            groups=None if groups is None else _joined(self.groups, np.asarray(groups), "groups"),
            touched=None,
        )
        return grown._judged()

    def _judged(self) -> Run:
        verdicts, graph, touched = self._judge()
        run = replace(self, graph=graph, touched=touched)
        run.__dict__["verdicts"] = verdicts
        return run

    def _judge(self) -> tuple[Verdicts, Neighbors, NDArray[np.int64] | None]:
        """Verdicts on all rows, and their neighbours, of which only what is missing is searched."""
        found: list[tuple[Neighbors, NDArray[np.int64] | None]] = []

        def search(features: Any, k: int, metric: Any, engine: Any, **options: Any) -> Neighbors:
            kept = self.graph
            wide = min(k, len(features) - 1)
            if kept is None or kept.k < wide or kept.n_examples * _MOST_GROWTH < len(features):
                found.append((find_neighbors(features, k, metric, engine, **options), None))
            elif kept.n_examples == len(features):
                found.append((kept, self.touched))
            else:
                found.append(grow(kept, features, metric))
            return found[-1][0].first(k)

        verdicts = detect(
            self.features, self.labels, ids=self.ids, groups=self.groups, search=search,
            **self.choices,
        )  # fmt: skip
        return verdicts, *found[-1]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run as an .npz file, without pickled objects."""
        target = _checked(path)
        if self.graph is None:
            raise InputError("the run has no neighbours yet; make it with Run.start")
        arrays: dict[str, NDArray[Any]] = {}
        for name in _ARRAYS:
            values = getattr(self, name)
            if values is not None:
                arrays[name] = _text(values) if values.dtype == object else values
                arrays[f"{name}_is_object"] = np.array(values.dtype == object)
        graph = self.graph
        about = {
            "format": FORMAT,
            "choices": self.choices,
            "metric": graph.metric,
            "engine": graph.engine,
            "reason": graph.reason,
            "recall": graph.recall,
        }
        arrays |= {"index": graph.index, "similarity": graph.similarity}
        arrays["about"] = np.frombuffer(exact_json.dumps(about).encode(), np.uint8)
        with replacing(target) as (file,):
            np.savez(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Run:
        """Read what ``save`` wrote; the verdicts are made again from the neighbours kept."""
        source = _checked(path)
        if not source.exists():
            raise InputError(f"{source} does not exist; check the path")
        with reading(source, "an .npz file"), np.load(source, allow_pickle=False) as stored:
            if "about" not in stored or "index" not in stored:
                raise InputError(f"{source} holds no run; give a file that Run.save wrote")
            about = exact_json.loads(stored["about"].tobytes())
            given: dict[str, Any] = {}
            for name in _ARRAYS:
                if name in stored:
                    values = stored[name]
                    given[name] = _objects(values) if stored[f"{name}_is_object"] else values
            graph = Neighbors(
                stored["index"], stored["similarity"], about["metric"], about["engine"],
                about["reason"], about["recall"],
            )  # fmt: skip
        return cls(**given, choices=about["choices"], graph=graph)


def extend(run: Run, features: ArrayLike, labels: ArrayLike, **more: Any) -> Run:
    """``run`` with rows added, see ``Run.extend``."""
    return run.extend(features, labels, **more)


def _joined(old: Any, new: NDArray[Any], what: str) -> NDArray[Any]:
    """Values of one type, one after the other."""
    kinds = {np.asarray(values).dtype.kind for values in (old, new)}
    if len(kinds) > 1 and not kinds <= set("iu"):
        raise InputError(
            f"{what} of the rows to add are of another type ({new.dtype}) than those of the run "
            f"({old.dtype}); convert them"
        )
    return np.concatenate([old, new])


def _text(values: NDArray[Any]) -> NDArray[np.uint8]:
    return np.frombuffer(exact_json.dumps(values.tolist()).encode(), np.uint8)


def _objects(stored: NDArray[np.uint8]) -> NDArray[Any]:
    values = exact_json.loads(stored.tobytes())
    out = np.empty(len(values), object)
    out[:] = values
    return out


def _checked(path: str | PathLike[str]) -> Path:
    target = Path(path)
    if target.suffix != ".npz":
        raise InputError(f"a run is kept in an .npz file, not in {target}")
    return target
