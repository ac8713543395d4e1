"""The answer: one verdict an example, and what was learnt about the dataset as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import require
from simifeat.transition import Transition

if TYPE_CHECKING:
    import pandas

    from simifeat.beliefs import Beliefs
    from simifeat.explain import Explanation
    from simifeat.nearest_file import Nearest
    from simifeat.neighbors import Neighbors

_N_SKIPPED_SHOWN = 3
COLUMNS = ("id", "label", "is_corrupted", "score", "p_corrupted", "flag_rate", "suggested")


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What ``detect`` found, in input order; arrays have one entry an example.

    ``is_corrupted`` is the verdict; ``suggested`` the label in place of a corrupted one, and the
    given label of every other example.
    """

    ids: NDArray[Any]
    labels: NDArray[Any]
    """Labels as they were given."""
    is_corrupted: NDArray[np.bool_]
    score: NDArray[np.float32]
    """Higher = cleaner, always; mean over the rounds."""
    p_corrupted: NDArray[np.float32]
    """Probability that the label is corrupted."""
    flag_rate: NDArray[np.float32]
    """Share of the rounds that flagged the example."""
    suggested: NDArray[Any]
    classes: NDArray[Any]
    """The distinct labels, [K], in the order of ``transition``."""
    transition: Transition
    metadata: Mapping[str, Any]
    """Version, settings, seed, fingerprint of the data, engine: what made these verdicts."""
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Further columns [n] by name, which stand after the others in a file."""
    neighbors: Neighbors | Nearest | None = None
    """Who was asked: of every example after ``detect``, of the flagged ones after ``load`` where
    they were kept beside the file."""
    beliefs: Beliefs | None = None
    """What is believed of the true classes; not kept in a file."""

    @property
    def n_examples(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @property
    def n_corrupted(self) -> int:
        """Number of labels found corrupted."""
        return int(self.is_corrupted.sum())

    @property
    def corrupted_rate(self) -> float:
        """Share of the labels found corrupted."""
        return self.n_corrupted / self.n_examples

    def most_suspicious(self, n: int | None = None) -> NDArray[np.int64]:
        """Row numbers by falling p_corrupted, ties by rising score, the first ``n`` of them."""
        return np.lexsort((self.score, -self.p_corrupted))[:n]

    def expected_yield(self, n: int) -> float:
        """How many of the ``n`` most suspicious labels are corrupted, by their probabilities."""
        return float(self.p_corrupted[self.most_suspicious(n)].sum(dtype=np.float64))

    def promise(self, n: int) -> str:
        """What reviewing the ``n`` most suspicious labels should bring, in one sentence."""
        n = min(n, self.n_examples)
        return (
            f"Review the {n:,} most suspicious: about {self.expected_yield(n):,.0f} are corrupted."
        )

    @property
    def p_suggested(self) -> NDArray[np.float32]:
        """Probability that ``suggested`` is the true class, [n]; NaN where it is not known."""
        if "p_suggested" in self.extra:
            return self.extra["p_suggested"]
        return np.where(self.is_corrupted, np.nan, 1 - self.p_corrupted).astype(np.float32)

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns of a verdict file by name."""
        return {
            "id": self.ids,
            "label": self.labels,
            "is_corrupted": self.is_corrupted,
            "score": self.score,
            "p_corrupted": self.p_corrupted,
            "flag_rate": self.flag_rate,
            "suggested": self.suggested,
            **self.extra,
        }

    def explain(self, row: int) -> Explanation:
        """Why ``row`` was judged as it was: who was asked, what they said, what decided."""
        from simifeat.explain import explain

        return explain(self, row)

    def with_evidence(self) -> Verdicts:
        """The same with columns of evidence: the runner-up, the threshold, the neighbours."""
        from simifeat.explain import evidence_columns

        return replace(self, extra={**self.extra, **evidence_columns(self)})

    @property
    def outlier_score(self) -> NDArray[np.float32]:
        """How far every row is from what any class looks like, [n]; see ``simifeat.outliers``."""
        if "outlier_score" in self.extra:
            return self.extra["outlier_score"]
        from simifeat.outliers import outliers_of

        return outliers_of(self).score

    @property
    def is_outlier(self) -> NDArray[np.bool_]:
        """Where no class fits, [n]; says nothing about the label."""
        if "is_outlier" in self.extra:
            return self.extra["is_outlier"]
        from simifeat.outliers import outliers_of

        return outliers_of(self).is_outlier

    def with_outliers(self) -> Verdicts:
        """The same with the columns ``is_outlier`` and ``outlier_score``."""
        columns = {"is_outlier": self.is_outlier, "outlier_score": self.outlier_score}
        return replace(self, extra={**self.extra, **columns})

    def to_pandas(self, evidence: bool = False) -> pandas.DataFrame:
        """A data frame of one row an example, on request with columns of evidence."""
        pandas = require("pandas", extra="pandas")
        return pandas.DataFrame((self.with_evidence() if evidence else self).columns())

    def save(self, path: str | PathLike[str], evidence: bool = False) -> None:
        """Write a .parquet, .csv or .jsonl file, and its metadata beside it as JSON."""
        from simifeat.verdict_files import save_verdicts

        save_verdicts(self.with_evidence() if evidence else self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Verdicts:
        """Read what ``save`` wrote."""
        from simifeat.verdict_files import load_verdicts

        return load_verdicts(path)

    def summary(self, n_classes: int = 10) -> str:
        """A few lines to read or paste: how many, how noisy, which classes most."""
        n_flagged, n = self.n_corrupted, self.n_examples
        estimate = f"estimated noise rate {self.transition.noise_rate:.1%}"
        if not self.transition.identifiable:
            estimate += " (not identifiable: " + "; ".join(self.transition.reasons) + ")"
        lines = [f"{n_flagged:,} of {n:,} labels look corrupted ({n_flagged / n:.1%}); {estimate}."]
        if (budget := self.metadata.get("budget")) is not None:
            lines.append(self.promise(budget))
        lines += [*self._skipped(), "", *self._class_table(n_classes)]
        return "\n".join(lines)

    def _skipped(self) -> list[str]:
        """What could not be read and was not judged, the first few by name."""
        skipped = (self.metadata.get("source") or {}).get("skipped") or []
        if not skipped:
            return []
        named = [f"{each['name']} ({each['reason']})" for each in skipped[:_N_SKIPPED_SHOWN]]
        more = len(skipped) - len(named)
        rest = f"; and {more} more, all of them in the metadata" if more else ""
        return [
            f"{len(skipped):,} could not be read and were not judged: {'; '.join(named)}{rest}."
        ]

    def _class_table(self, n_classes: int) -> list[str]:
        codes = np.searchsorted(self.classes, self.labels)  # [n]
        counts = np.bincount(codes, minlength=len(self.classes))  # [K]
        flagged = np.bincount(codes, weights=self.is_corrupted, minlength=len(self.classes))
        share = flagged / np.maximum(counts, 1)
        worst = np.argsort(-share, kind="stable")[:n_classes]
        width = max(5, *(len(str(self.classes[j])) for j in worst))
        rows = [
            f"{'label':<{width}}  {'rows':>9}  {'corrupted':>9}  {'share':>6}  most often really"
        ]
        for j in worst:
            wrong = self.is_corrupted & (codes == j)
            really = "-"
            if wrong.any():
                values, times = np.unique(self.suggested[wrong], return_counts=True)
                really = f"{values[times.argmax()]} ({times.max() / wrong.sum():.0%})"
            rows.append(
                f"{self.classes[j]!s:<{width}}  {counts[j]:>9,}  {int(flagged[j]):>9,}  "
                f"{share[j]:>6.1%}  {really}"
            )
        if len(self.classes) > n_classes:
            rows.append(f"({len(self.classes) - n_classes} more classes with a lower share)")
        return rows
