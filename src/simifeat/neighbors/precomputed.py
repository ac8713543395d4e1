"""A neighbour graph that is already there: scipy sparse, or the arrays of a vector store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simifeat.errors import InputError
from simifeat.neighbors.base import Metric, Neighbors

Values = Literal["distance", "squared_distance", "similarity"]

_BLOCK = 1 << 16  # rows sorted at once
_ROUNDING = 1e-3  # a distance may be this much outside its range by rounding alone


@runtime_checkable
class Sparse(Protocol):
    """What all of scipy's sparse matrices and arrays have."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def tocsr(self) -> Any:
        """As compressed rows."""


Graph: TypeAlias = Neighbors | Sparse | tuple[ArrayLike, ArrayLike]
"""Neighbours, a sparse [n, n] matrix, or a pair of arrays [n, k] of index and distance."""


def as_neighbors(
    graph: Graph,
    n_examples: int,
    k: int | None = None,
    *,
    values: Values = "distance",
    metric: Metric = "cosine",
) -> Neighbors:
    """Neighbours from a graph that somebody else searched, at most ``k`` of every example.

    ``graph`` is one of
      - a ``Neighbors``, taken as it is;
      - a scipy sparse matrix [n, n], row = example, stored value = distance to a neighbour, as
        scikit-learn's ``kneighbors_graph(mode="distance")`` makes it. A stored zero counts;
      - a pair (index, distance) of arrays [n, k'], as vector stores return them. The integer
        array is the index, so the pair may come in either order; index -1 is a missing neighbour.

    ``values`` says what the numbers are: distances, squared distances (FAISS ``IndexFlatL2``), or
    similarities (FAISS ``IndexFlatIP``), which are kept as they are. A distance becomes
    1 - distance for the cosine and 1 / (1 + distance) for the Euclidean ``metric``.

    An example among its own neighbours is dropped by its index, wherever it stands; where that
    happens the graph has one column less, so that nobody gets an extra neighbour. An index twice
    in a row counts once. Whether the neighbours are the true ones is not known: recall is None.
    """
    if k is not None and (isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1):
        raise InputError(f"k must be a whole number of at least 1, got {k!r}")
    if values not in ("distance", "squared_distance", "similarity"):
        raise InputError(
            f"values must be 'distance', 'squared_distance' or 'similarity', got {values!r}"
        )
    if metric not in ("cosine", "euclidean"):
        raise InputError(f"metric must be 'cosine' or 'euclidean', got {metric!r}")
    if isinstance(graph, Neighbors):
        _check_rows(graph.n_examples, n_examples)
        _check_index(graph.index, n_examples)
        cut = graph.k if k is None else min(k, graph.k)
        return replace(graph, index=graph.index[:, :cut], similarity=graph.similarity[:, :cut])
    if isinstance(graph, Sparse):
        index, value = _from_sparse(graph, n_examples)
        kind = "a sparse matrix"
    else:
        index, value = _from_pair(graph, n_examples)
        kind = "arrays of index and value"
    similarity = _similarity(index, value, values, metric)
    has_self = _sort(index, similarity)
    width = max(0, index.shape[1] - has_self)
    width = width if k is None else min(k, width)
    reason = f"neighbours given as {kind} ({values.replace('_', ' ')}), nothing searched"
    return Neighbors(
        np.ascontiguousarray(index[:, :width]),
        np.ascontiguousarray(similarity[:, :width]),
        metric,
        "precomputed",
        reason,
        None,
    )


def _check_rows(n_rows: int, n_examples: int) -> None:
    if n_rows != n_examples:
        raise InputError(
            f"the neighbour graph has {n_rows} rows but there are {n_examples} examples; "
            "give one row an example, in the same order"
        )


def _check_index(index: NDArray[Any], n_examples: int) -> None:
    """Every neighbour is a row of the dataset, or -1."""
    for start in range(0, len(index), _BLOCK):
        wrong = (index[start : start + _BLOCK] < -1) | (index[start : start + _BLOCK] >= n_examples)
        if wrong.any():
            row, slot = (int(at[0]) for at in np.nonzero(wrong))
            raise InputError(
                f"neighbour graph: row {start + row} names neighbour {index[start + row, slot]}, "
                f"but rows are numbered 0 to {n_examples - 1} (-1: none); "
                "was the graph made from these features?"
            )


def _from_sparse(graph: Sparse, n_examples: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Rows of a sparse matrix side by side, the shorter ones filled up with -1."""
    shape = tuple(graph.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"a sparse neighbour graph must be [n, n], got shape {shape}")
    _check_rows(shape[0], n_examples)
    rows = graph.tocsr()
    if rows.data.dtype.kind not in "fiub":
        raise InputError(
            f"neighbour graph: values must be real numbers, got dtype {rows.data.dtype}"
        )
    count = np.diff(rows.indptr)  # [n]
    slot = np.arange(len(rows.indices)) - np.repeat(rows.indptr[:-1], count)  # [entries]
    row = np.repeat(np.arange(n_examples), count)
    width = int(count.max(initial=0))
    index = np.full((n_examples, width), -1, np.int32)
    value = np.zeros((n_examples, width), np.float32)
    index[row, slot] = rows.indices
    value[row, slot] = rows.data
    return index, value


def _from_pair(graph: Any, n_examples: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """An index array and its values, copied, whichever comes first."""
    if not isinstance(graph, (tuple, list)) or len(graph) != 2:
        raise InputError(
            "neighbors must be a Neighbors, a scipy sparse matrix or a pair of arrays "
            f"(index, distance), got {type(graph).__name__}"
        )
    index, value = np.asarray(graph[0]), np.asarray(graph[1])
    if index.dtype.kind == "f" and value.dtype.kind in "iu":  # FAISS and scikit-learn's order
        index, value = value, index
    if index.dtype.kind not in "iu" or value.dtype.kind not in "fiu":
        raise InputError(
            "neighbour graph: the index must be integers and the distance real numbers, "
            f"got dtypes {index.dtype} and {value.dtype}"
        )
    if index.ndim != 2 or index.shape != value.shape:
        raise InputError(
            "neighbour graph: index and distance must both be [n_examples, k], "
            f"got shapes {index.shape} and {value.shape}"
        )
    _check_rows(len(index), n_examples)
    if index.dtype.kind == "u":  # a missing -1 wraps round to the largest number of the type
        index = np.where(index == np.iinfo(index.dtype).max, -1, index.astype(np.int64))
    _check_index(index, n_examples)
    with np.errstate(over="ignore"):  # what leaves float32 is named below, unless it is missing
        return index.astype(np.int32), value.astype(np.float32)


def _similarity(
    index: NDArray[np.int32], value: NDArray[np.float32], values: Values, metric: Metric
) -> NDArray[np.float32]:
    """Similarity of every neighbour, in place of its ``value``; 0 where there is none."""
    value[index < 0] = 0.0
    _refuse(~np.isfinite(value), value, "not a finite number", "search again without such rows")
    if values != "similarity":
        other = "if these are similarities, say values='similarity'"
        _refuse(value < -_ROUNDING, value, "not a distance", other)
        np.maximum(value, 0.0, out=value)
        if values == "squared_distance":
            np.sqrt(value, out=value)
        if metric == "cosine":
            other = "for another distance say metric='euclidean'"
            _refuse(value > 2.0 + _ROUNDING, value, "not a cosine distance (0 to 2)", other)
            value = np.maximum(np.float32(1.0) - value, np.float32(-1.0))
        else:
            value = np.float32(1.0) / (np.float32(1.0) + value)
        value[index < 0] = 0.0
    return value


def _refuse(wrong: NDArray[np.bool_], value: NDArray[Any], what: str, remedy: str) -> None:
    """Name the first row with a ``wrong`` value."""
    if wrong.any():
        row, slot = (int(at[0]) for at in np.nonzero(wrong))
        raise InputError(f"neighbour graph: row {row} holds {value[row, slot]}, {what}; {remedy}")


def _sort(index: NDArray[np.int32], similarity: NDArray[np.float32]) -> bool:
    """Sort every row in place: falling similarity, then rising index; nobody, oneself, twice last.

    Returns whether anybody was among its own neighbours.
    """
    has_self = False
    for start in range(0, len(index), _BLOCK):
        part = slice(start, start + _BLOCK)
        near, worth = index[part], similarity[part]  # [b, k'] views
        own = near == np.arange(start, start + len(near), dtype=np.int32)[:, None]
        has_self |= bool(own.any())
        near[own] = -1
        _order(near, worth)
        by_index = np.argsort(near, axis=1, kind="stable")  # [b, k'] the better copy comes first
        place = np.take_along_axis(near, by_index, axis=1)
        again = np.zeros(near.shape, bool)
        np.put_along_axis(again, by_index[:, 1:], place[:, 1:] == place[:, :-1], axis=1)
        again &= near >= 0
        if again.any():
            near[again] = -1
            _order(near, worth)
    return has_self


def _order(near: NDArray[np.int32], worth: NDArray[np.float32]) -> None:
    """Falling ``worth``, then rising ``near``, -1 last with worth 0; in place."""
    worth[near < 0] = 0.0
    order = np.lexsort((near, -worth, near < 0), axis=-1)
    near[:] = np.take_along_axis(near, order, axis=1)
    worth[:] = np.take_along_axis(worth, order, axis=1)
