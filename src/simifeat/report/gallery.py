"""The most suspicious examples, what there is to see of them, and the neighbours against them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simifeat.examples import Examples
from simifeat.io.records import Unreadable
from simifeat.verdicts import Verdicts

_PICTURE, _THUMBNAIL = 224, 72  # pixels of the longer side
_TEXT_LENGTH, _NEIGHBOR_TEXT_LENGTH = 600, 120
_MOST_FIELDS = 8


@dataclass(frozen=True)
class Look:
    """What there is to see of one example; all empty if nothing is."""

    picture: str | None = None
    """A data URI."""
    text: str | None = None
    fields: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class NeighborCard:
    """A neighbour of a suspicious example."""

    label: str
    similarity: float
    look: Look


@dataclass(frozen=True)
class Card:
    """One suspicious example."""

    id: str
    label: str
    suggested: str
    p_corrupted: float
    score: float
    look: Look
    neighbors: list[NeighborCard]


def suspicious_rows(verdicts: Verdicts, n: int) -> NDArray[np.int64]:
    """The ``n`` most suspicious of the flagged rows."""
    rows = verdicts.most_suspicious()
    return rows[verdicts.is_corrupted[rows]][:n]


def make_cards(
    verdicts: Verdicts,
    rows: NDArray[np.int64],
    examples: Examples | None = None,
    nearest: Sequence[Sequence[tuple[int, float]]] = (),
) -> list[Card]:
    """A card for each of ``rows`` [m]; ``nearest`` has the neighbours of each, if known."""
    examples = examples or Examples()
    cards = []
    for place, row in enumerate(rows.tolist()):
        neighbors = []
        if nearest:
            neighbors = [
                NeighborCard(
                    str(verdicts.labels[other]),
                    similarity,
                    _look(examples, other, _THUMBNAIL, _NEIGHBOR_TEXT_LENGTH, 0),
                )
                for other, similarity in nearest[place]
            ]
        cards.append(
            Card(
                id=str(verdicts.ids[row]),
                label=str(verdicts.labels[row]),
                suggested=str(verdicts.suggested[row]),
                p_corrupted=float(verdicts.p_corrupted[row]),
                score=float(verdicts.score[row]),
                look=_look(examples, row, _PICTURE, _TEXT_LENGTH, _MOST_FIELDS),
                neighbors=neighbors,
            )
        )
    return cards


def _look(examples: Examples, row: int, size: int, length: int, n_fields: int) -> Look:
    if examples.kind == "image":
        try:
            content, kind = examples.picture(row, size)
        except Unreadable:
            return Look()
        return Look(picture=f"data:{kind};base64,{base64.b64encode(content).decode()}")
    text = examples.text(row)
    fields = [(name, str(value)) for name, value in examples.fields(row)[:n_fields]]
    return Look(text=None if text is None else text[:length], fields=fields)
