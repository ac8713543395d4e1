"""Double-check mode: a random sample of decided rows is looked at again, blind."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simifeat.review.answers import Entry, State
from simifeat.review.desk import Desk

_DECIDED = (State.KEEP, State.RELABEL, State.DROP, State.CONFLICT)
_NORMAL_90 = 1.6449


@dataclass(frozen=True)
class Agreement:
    """How often a second look said what the first had said."""

    first: str
    second: str
    compared: int
    agreed: int
    kappa: float | None
    """Agreement beyond chance (Cohen); None where there is nothing but chance."""
    low: float
    high: float
    """Wilson's 90 % interval of the share that agrees."""


def sample_order(desk: Desk) -> NDArray[np.int64]:
    """All rows in the one random order that double-checking follows, whoever does it."""
    seed = int(desk.sheet.fingerprint[:16], 16)
    return np.random.default_rng(seed).permutation(desk.sheet.n_rows)


def to_check(desk: Desk, order: NDArray[np.int64], share: float, reviewer: str) -> list[int]:
    """Rows of the sample that ``reviewer`` has not checked, in the order of the sample.

    The sample is the first ``share`` of the decided rows in ``order``.
    """
    decided = order[np.isin(desk.state[order], [int(state) for state in _DECIDED])]
    sample = decided[: math.ceil(share * len(decided))].tolist()
    return [row for row in sample if not _checked(desk, row, reviewer)]


def agreements(desk: Desk) -> list[Agreement]:
    """For everybody who decided and everybody who checked it, how far they agree."""
    pairs: dict[tuple[str, str], list[tuple[Entry, Entry]]] = {}
    for row in desk.ledger.rows:
        voices = [voice for voice in desk.ledger.voices(row) if voice.action != "skip"]
        for second in (voice for voice in voices if voice.kind == "check"):
            for first in (voice for voice in voices if voice.kind == "decide"):
                pairs.setdefault((first.reviewer, second.reviewer), []).append((first, second))
    return [_agreement(*names, compared) for names, compared in sorted(pairs.items())]


def _agreement(first: str, second: str, pairs: Sequence[tuple[Entry, Entry]]) -> Agreement:
    n = len(pairs)
    agreed = sum(one.answer == two.answer for one, two in pairs)
    ones, twos = Counter(one.answer for one, _ in pairs), Counter(two.answer for _, two in pairs)
    by_chance = sum(times * twos[answer] for answer, times in ones.items()) / n**2
    kappa = (agreed / n - by_chance) / (1 - by_chance) if by_chance < 1 else None
    share, z = agreed / n, _NORMAL_90
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return Agreement(first, second, n, agreed, kappa, centre - half, centre + half)


def _checked(desk: Desk, row: int, reviewer: str) -> bool:
    return any(v.kind == "check" and v.reviewer == reviewer for v in desk.ledger.voices(row))
