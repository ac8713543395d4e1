"""The answer about several annotators: one label a row, and how good each of them is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simifeat.annotations import Annotations
from simifeat.errors import require
from simifeat.io.answer_file import save_answer

if TYPE_CHECKING:
    import pandas

FORMAT = "simifeat consensus"
ENDINGS = (".parquet", ".csv", ".jsonl")


@dataclass(frozen=True, eq=False)
class ConsensusVerdicts:
    """What ``consensus_labels`` found."""

    ids: NDArray[Any]  # [n]
    classes: NDArray[Any]  # [K]
    annotators: NDArray[Any]  # [m]
    belief: NDArray[np.float32]
    """Probability of every class, [n, K]."""
    confusion: NDArray[np.float64]
    """P(annotator says l | class i), [m, K, K]."""
    annotations: Annotations
    gain: NDArray[np.float32]
    """By how much one more label should raise the chance that the label is right, [n]."""
    metadata: Mapping[str, Any]

    @property
    def labels(self) -> NDArray[Any]:
        """The most probable class of every row, [n]."""
        return self.classes[self.belief.argmax(axis=1)]

    @property
    def p_label(self) -> NDArray[np.float32]:
        """The probability that it is right, [n]."""
        return np.max(self.belief, axis=1)

    @property
    def n_annotations(self) -> NDArray[np.int64]:
        """Statements about every row, [n]."""
        return np.bincount(self.annotations.row, minlength=len(self.ids))

    @property
    def quality(self) -> NDArray[np.float64]:
        """The chance that a label by each annotator is right, [m]: sum_i p_i C[i, i]."""
        prior = self.belief.mean(axis=0, dtype=np.float64)
        return np.einsum("i,mii->m", prior, self.confusion)

    @property
    def p_wrong(self) -> NDArray[np.float32]:
        """Probability that what was said is wrong, for each statement of ``annotations``, [r]."""
        said = self.annotations
        return 1 - self.belief[said.row, said.code]

    def ask_again(self, n: int | None = None) -> NDArray[np.int64]:
        """Rows that another annotator should see, the most useful first."""
        return np.argsort(-self.gain, kind="stable")[:n]

    def annotator_table(self) -> list[dict[str, Any]]:
        """Every annotator: labels given, how good, what is most often mistaken for what."""
        said = self.annotations
        count = np.bincount(said.who, minlength=len(self.annotators))
        prior = self.belief.mean(axis=0, dtype=np.float64)
        names, out = self.classes.tolist(), []
        for a, name in enumerate(self.annotators.tolist()):
            joint = self.confusion[a] * prior[:, None]
            np.fill_diagonal(joint, 0)
            i, j = np.unravel_index(int(joint.argmax()), joint.shape)
            out.append(
                {
                    "annotator": name,
                    "labels": int(count[a]),
                    "quality": float(self.quality[a]),
                    "most_mistaken": [names[i], names[j], float(self.confusion[a, i, j])],
                }
            )
        return out

    def columns(self) -> dict[str, Any]:
        """One entry a row: the columns of a file by name."""
        return {
            "id": self.ids,
            "label": self.labels,
            "p_label": self.p_label,
            "n_annotations": self.n_annotations,
            "gain": self.gain,
        }

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of one row an example."""
        pandas = require("pandas", extra="pandas")
        return pandas.DataFrame(self.columns())

    def save(self, path: str | PathLike[str]) -> None:
        """Write a .parquet, .csv or .jsonl file of one row an example, annotators beside it."""
        record = {
            "format": FORMAT,
            "classes": self.classes.tolist(),
            "annotators": self.annotator_table(),
            "confusion": self.confusion,
            "metadata": self.metadata,
        }
        save_answer(self.columns(), record, Path(path), ENDINGS)

    def summary(self, n_annotators: int = 10) -> str:
        """A few lines to read or paste."""
        sure = float(self.p_label.mean(dtype=np.float64))
        lines = [
            f"{len(self.ids):,} rows, {len(self.annotations.row):,} labels by "
            f"{len(self.annotators):,} annotators; about {sure:.1%} of the consensus is right.",
            "",
        ]
        table = sorted(self.annotator_table(), key=lambda row: row["quality"])
        width = max(9, *(len(str(row["annotator"])) for row in table[:n_annotators]))
        lines.append(f"{'annotator':<{width}}  {'labels':>9}  {'right':>6}  most often mistaken")
        for row in table[:n_annotators]:
            true, said, share = row["most_mistaken"]
            lines.append(
                f"{row['annotator']!s:<{width}}  {row['labels']:>9,}  {row['quality']:>6.1%}  "
                f"{true} for {said} ({share:.0%})"
            )
        if len(table) > n_annotators:
            lines.append(f"({len(table) - n_annotators} better annotators)")
        return "\n".join(lines)
