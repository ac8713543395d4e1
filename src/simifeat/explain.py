"""The evidence for a verdict: who was asked, what they said, what decided."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simifeat.beliefs import Beliefs
from simifeat.errors import InputError
from simifeat.neighbors.base import Neighbors
from simifeat.propagate import PropagateOptions, neighbor_weights

if TYPE_CHECKING:
    from simifeat.verdicts import Verdicts

N_LISTED = 10
"""Neighbours an evidence column lists, and the text of an explanation shows."""


@dataclass(frozen=True)
class Witness:
    """A neighbour that was asked."""

    row: int
    id: Any
    label: Any
    """As given."""
    suggested: Any
    """What its own verdict says it is."""
    similarity: float
    weight: float
    """Its share of all that was said; the shares of an example's witnesses sum to 1."""


@dataclass(frozen=True)
class Explanation:
    """Why one example was judged as it was; ``str`` of it is for people."""

    row: int
    id: Any
    label: Any
    is_corrupted: bool
    p_corrupted: float
    runner_up: Any
    """The most probable class but the given label, None where that is not known."""
    p_runner_up: float | None
    measure: str
    """What the cut was made on: p_corrupted, or the score."""
    value: float
    threshold: float
    """Beyond it (above for p_corrupted, below for a score) a label is flagged."""
    flag_rate: float
    n_rounds: int
    witnesses: tuple[Witness, ...]
    """By falling weight."""

    def __str__(self) -> str:
        verdict = "looks corrupted" if self.is_corrupted else "looks right"
        side = "above" if self.measure == "p_corrupted" else "below"
        lines = [
            f"row {self.row} (id {self.id}): the label {self.label!r} {verdict}, "
            f"P(corrupted) {self.p_corrupted:.3f}",
            f"  {self.measure} is {self.value:.3f}; {side} {self.threshold:.3f} a label is flagged",
        ]
        if self.n_rounds > 1:
            lines.append(f"  flagged in {self.flag_rate:.0%} of {self.n_rounds} rounds")
        if self.runner_up is not None:
            sure = "" if self.p_runner_up is None else f", probability {self.p_runner_up:.3f}"
            lines.append(f"  the most probable other class is {self.runner_up!r}{sure}")
        share = Counter[Any]()
        for each in self.witnesses:
            share[each.label] += each.weight  # type: ignore[assignment]
        said = ", ".join(f"{label!r} {part:.0%}" for label, part in share.most_common(5))
        lines += [
            f"  {len(self.witnesses)} neighbours say by weight: {said or 'nothing'}",
            "  similarity  weight  label (id)",
        ]
        for each in self.witnesses[:N_LISTED]:
            note = "" if each.suggested == each.label else f", itself probably {each.suggested!r}"
            lines.append(
                f"  {each.similarity:10.3f}  {each.weight:6.1%}  {each.label!r} ({each.id}){note}"
            )
        return "\n".join(lines)


def explain(verdicts: Verdicts, row: int) -> Explanation:
    """The evidence for the verdict on ``row``."""
    n = verdicts.n_examples
    if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < n:
        raise InputError(f"there is no row {row!r}; rows are numbered 0 to {n - 1}")
    row = int(row)
    measure, threshold = _cut(verdicts, verdicts.labels[row])
    runner_up, p_runner_up = _runner_up(verdicts, row)
    return Explanation(
        row=row,
        id=_plain(verdicts.ids[row]),
        label=_plain(verdicts.labels[row]),
        is_corrupted=bool(verdicts.is_corrupted[row]),
        p_corrupted=float(verdicts.p_corrupted[row]),
        runner_up=runner_up,
        p_runner_up=p_runner_up,
        measure=measure,
        value=float(getattr(verdicts, measure)[row]),
        threshold=threshold,
        flag_rate=float(verdicts.flag_rate[row]),
        n_rounds=int(verdicts.metadata.get("n_rounds", 1)),
        witnesses=_witnesses(verdicts, row),
    )


def evidence_columns(verdicts: Verdicts) -> dict[str, NDArray[Any]]:
    """The evidence as columns [n] of plain values; lists are JSON text, nearest neighbour first."""
    if verdicts.beliefs is None or not isinstance(verdicts.neighbors, Neighbors):
        raise InputError(
            "the evidence for every row is known after detect alone, not after loading a file; "
            "save it with evidence=True when the verdicts are made"
        )
    codes = np.searchsorted(verdicts.classes, verdicts.labels).astype(np.int32)  # [n]
    other = verdicts.beliefs.best_other(codes)  # [n]
    threshold = np.empty(verdicts.n_examples, np.float32)
    for j, label in enumerate(verdicts.classes):
        threshold[codes == j] = _cut(verdicts, label)[1]
    near = verdicts.neighbors.first(N_LISTED)
    index = [[m for m in row if m >= 0] for row in near.index.tolist()]
    similarity = near.similarity.round(4).astype(np.float64).round(4).tolist()
    ids, labels = verdicts.ids.tolist(), verdicts.labels.tolist()
    return {
        "runner_up": verdicts.classes[np.where(other >= 0, other, codes)],
        "p_runner_up": np.where(other >= 0, verdicts.beliefs.of(other), np.float32(0)),
        "threshold": threshold,
        "neighbor_ids": _json([[ids[m] for m in row] for row in index]),
        "neighbor_labels": _json([[labels[m] for m in row] for row in index]),
        "neighbor_similarities": _json(
            [values[: len(row)] for values, row in zip(similarity, index, strict=True)]
        ),
    }


def _cut(verdicts: Verdicts, label: Any) -> tuple[str, float]:
    """What is compared, and with what, for rows of the given ``label``."""
    method = verdicts.metadata.get("settings", {}).get("method", "propagate")
    if method == "vote":
        return "score", 0.0
    if method == "rank":  # the lowest scores of a class are flagged
        kept = (verdicts.labels == label) & ~verdicts.is_corrupted
        return "score", float(verdicts.score[kept].min()) if kept.any() else 1.0
    return "p_corrupted", float(verdicts.metadata.get("cut", 0.5))


def _runner_up(verdicts: Verdicts, row: int) -> tuple[Any, float | None]:
    if verdicts.beliefs is None:
        if "runner_up" in verdicts.extra:
            extra = verdicts.extra
            return _plain(extra["runner_up"][row]), float(extra["p_runner_up"][row])
        return (_plain(verdicts.suggested[row]) if verdicts.is_corrupted[row] else None), None
    code = np.searchsorted(verdicts.classes, verdicts.labels[row : row + 1]).astype(np.int32)
    beliefs = verdicts.beliefs
    mine = Beliefs(beliefs.classes[row : row + 1], beliefs.probability[row : row + 1])
    other = mine.best_other(code)
    if other[0] < 0:
        return None, None
    return _plain(verdicts.classes[other[0]]), float(mine.of(other)[0])


def _witnesses(verdicts: Verdicts, row: int) -> tuple[Witness, ...]:
    """The neighbours with their shares, by falling share."""
    similar, weights = _heard(verdicts, row)
    total = sum(weights.values()) or 1.0
    found = [
        Witness(
            row=other,
            id=_plain(verdicts.ids[other]),
            label=_plain(verdicts.labels[other]),
            suggested=_plain(verdicts.suggested[other]),
            similarity=similar[other],
            weight=weight / total,
        )
        for other, weight in weights.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.weight, -each.similarity, each.row)))


def _heard(verdicts: Verdicts, row: int) -> tuple[dict[int, float], dict[int, float]]:
    """Similarity and weight of whoever had a say about ``row``."""
    near = verdicts.neighbors
    if near is None:
        raise InputError(
            "the neighbours are not known: the verdicts were loaded from a file that none are "
            "kept beside; run detect again"
        )
    settings = verdicts.metadata.get("settings", {})
    if not isinstance(near, Neighbors):
        similar = dict(near.to(row))
        if not similar:
            raise InputError(
                f"the neighbours of row {row} are not known: the file keeps those of flagged rows; "
                "run detect again"
            )
    else:
        index, similarity = near.index[row].tolist(), near.similarity[row].tolist()
        similar = {m: s for m, s in zip(index, similarity, strict=True) if m >= 0}
        if settings.get("method") == "propagate":  # who names this row as neighbour is heard, too
            name, place = np.nonzero(near.index == row)
            similar |= dict(zip(name.tolist(), near.similarity[name, place].tolist(), strict=True))
            part = neighbor_weights(near, PropagateOptions().power)[[row]]
            shares = dict(zip(part.indices.tolist(), part.data.tolist(), strict=True))
            return similar, {m: shares.get(m, 0.0) for m in similar}
    if settings.get("method") == "propagate":
        power = PropagateOptions().power
        return similar, {m: max(s, 0.0) ** power for m, s in similar.items()}
    if settings.get("weights") == "similarity":
        return similar, {m: max(s, 0.0) for m, s in similar.items()}
    return similar, dict.fromkeys(similar, 1.0)


def _json(rows: Sequence[Any]) -> NDArray[Any]:
    texts = np.empty(len(rows), object)
    texts[:] = [json.dumps(row, ensure_ascii=False) for row in rows]
    return texts


def _plain(value: Any) -> Any:
    """A Python value of a numpy one, so that it prints as people write it."""
    return value.item() if isinstance(value, np.generic) else value
