"""The answer about several labels a row: what is missing, what is too many, how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import require
from simifeat.io.answer_file import save_answer
from simifeat.transition import Transition

if TYPE_CHECKING:
    import pandas

    from simifeat.neighbors import Neighbors

FORMAT = "simifeat multilabel verdicts"
ENDINGS = (".parquet", ".jsonl")
"""Of files that hold lists."""


@dataclass(frozen=True, eq=False)
class MultilabelVerdicts:
    """What ``detect_multilabel`` found; arrays [n, K] are row by row, class by class."""

    ids: NDArray[Any]  # [n]
    classes: NDArray[Any]  # [K]
    labels: NDArray[np.bool_]
    """As given, [n, K]."""
    p_corrupted: NDArray[np.float32]
    """Probability that the 0 or 1 is wrong, [n, K]."""
    is_corrupted: NDArray[np.bool_]  # [n, K]
    transitions: tuple[Transition | None, ...]
    """T of each class's zeros and ones; None where a column holds one value alone."""
    metadata: Mapping[str, Any]
    neighbors: Neighbors | None = None

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Labels that should be there, [n, K]."""
        return self.is_corrupted & ~self.labels

    @property
    def extra(self) -> NDArray[np.bool_]:
        """Labels that should not be there, [n, K]."""
        return self.is_corrupted & self.labels

    @property
    def suggested(self) -> NDArray[np.bool_]:
        """The labels as they probably should be, [n, K]."""
        return np.where(self.is_corrupted, ~self.labels, self.labels)

    @property
    def any_corrupted(self) -> NDArray[np.bool_]:
        """Rows of which any label is missing or too many, [n]."""
        return np.logical_or.reduce(self.is_corrupted, axis=1)

    @property
    def missing_rate(self) -> NDArray[np.float64]:
        """P(label 0 | class is there) of each class, [K], from the beliefs about its rows."""
        absent = np.where(self.labels, 0, self.p_corrupted).sum(axis=0, dtype=np.float64)
        there = np.where(self.labels, 1 - self.p_corrupted, 0).sum(axis=0, dtype=np.float64)
        return self._rate(absent, absent + there)

    @property
    def extra_rate(self) -> NDArray[np.float64]:
        """P(label 1 | class is not there) of each class, [K], from the beliefs about its rows."""
        wrong = np.where(self.labels, self.p_corrupted, 0).sum(axis=0, dtype=np.float64)
        not_there = np.where(self.labels, 0, 1 - self.p_corrupted).sum(axis=0, dtype=np.float64)
        return self._rate(wrong, wrong + not_there)

    def _rate(self, part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
        judged = np.array([t is not None for t in self.transitions])
        rate = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
        return np.where(judged, rate, np.nan)

    def names(self, chosen: NDArray[np.bool_]) -> list[list[Any]]:
        """The classes ``chosen`` [n, K] of each row."""
        names = self.classes.tolist()
        out: list[list[Any]] = [[] for _ in chosen]
        for n, j in zip(*np.nonzero(chosen), strict=True):
            out[n].append(names[j])
        return out

    def most_suspicious(self, n: int | None = None) -> list[tuple[int, int]]:
        """(row, class number) by falling p_corrupted."""
        order = np.argsort(-self.p_corrupted, axis=None, kind="stable")[:n]
        rows, columns = np.unravel_index(order, self.p_corrupted.shape)
        return list(zip(rows.tolist(), columns.tolist(), strict=True))

    def columns(self) -> dict[str, Any]:
        """One entry a row: the columns of a file by name."""
        return {
            "id": self.ids,
            "labels": self.names(self.labels),
            "is_corrupted": self.any_corrupted,
            "p_corrupted": self.p_corrupted.max(axis=1).astype(np.float64).round(6),
            "missing": self.names(self.missing),
            "extra": self.names(self.extra),
            "suggested": self.names(self.suggested),
        }

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of one row an example; labels are lists."""
        pandas = require("pandas", extra="pandas")
        return pandas.DataFrame(self.columns())

    def class_table(self) -> list[dict[str, Any]]:
        """What was found of every class."""
        rates = zip(self.missing_rate.tolist(), self.extra_rate.tolist(), strict=True)
        return [
            {
                "class": name,
                "rows": int(self.labels[:, j].sum()),
                "missing": int(self.missing[:, j].sum()),
                "extra": int(self.extra[:, j].sum()),
                "missing_rate": None if t is None else missing,
                "extra_rate": None if t is None else extra,
                "identifiable": None if t is None else t.identifiable,
            }
            for j, (name, t, (missing, extra)) in enumerate(
                zip(self.classes.tolist(), self.transitions, rates, strict=True)
            )
        ]

    def save(self, path: str | PathLike[str]) -> None:
        """Write a .parquet or .jsonl file of one row an example, and what was found beside it."""
        record = {"format": FORMAT, "classes": self.class_table(), "metadata": self.metadata}
        save_answer(self.columns(), record, Path(path), ENDINGS)

    def summary(self, n_classes: int = 10) -> str:
        """A few lines to read or paste."""
        n, rows = len(self.ids), int(self.any_corrupted.sum())
        lines = [
            f"{rows:,} of {n:,} rows have labels that look wrong ({rows / n:.1%}): "
            f"{int(self.missing.sum()):,} missing, {int(self.extra.sum()):,} too many.",
            "",
        ]
        table = sorted(self.class_table(), key=lambda row: -(row["missing"] + row["extra"]))
        width = max(5, *(len(str(row["class"])) for row in table[:n_classes]))
        lines.append(
            f"{'class':<{width}}  {'rows':>9}  {'missing':>8}  {'too many':>8}  "
            "missing rate  extra rate"
        )
        for row in table[:n_classes]:
            rates = ("     -", "     -")
            if row["missing_rate"] is not None:
                rates = (f"{row['missing_rate']:>6.1%}", f"{row['extra_rate']:>6.1%}")
            lines.append(
                f"{row['class']!s:<{width}}  {row['rows']:>9,}  {row['missing']:>8,}  "
                f"{row['extra']:>8,}  {rates[0]:>12}  {rates[1]:>10}"
            )
        if len(table) > n_classes:
            lines.append(f"({len(table) - n_classes} more classes with fewer)")
        return "\n".join(lines)
