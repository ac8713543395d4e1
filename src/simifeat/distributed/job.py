"""What a run is to do, and how its rows are divided; known before any feature is read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from simifeat.distributed.cost import Budget
from simifeat.distributed.inputs import Input
from simifeat.distributed.work import Table, Work
from simifeat.settings import Settings
from simifeat.version import __version__


@dataclass(frozen=True)
class Job:
    """One run: its input, choices and folder."""

    input: Input
    settings: Settings
    seed: int
    k: int
    """Neighbours wanted for a row, of those that may vote."""
    budget: Budget
    work: Work

    @property
    def n_parts(self) -> int:
        """Parts of the rows; they change memory, never the result."""
        n, d = self.input.n, self.input.d
        return max(1, min(n // 2, -(-n * d * 4 // self.budget.part_bytes)))

    def bounds(self, part: int) -> tuple[int, int]:
        """First row of a part, and the first after it."""
        edges = np.linspace(0, self.input.n, self.n_parts + 1).astype(np.int64)
        return int(edges[part]), int(edges[part + 1])

    @property
    def key(self) -> str:
        """Names everything that results in the work folder depend on."""
        facts = [
            __version__,
            self.input.fingerprint(),
            self.settings.to_dict(),
            self.seed,
            self.k,
            self.budget.part_bytes,
            self.budget.search_bytes,
        ]
        return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()

    @property
    def search_seed(self) -> int:
        """What ``simifeat.detect`` gives the engine for the same seed."""
        return int(np.random.SeedSequence(self.seed).spawn(2)[0].generate_state(1)[0])

    @property
    def rows(self) -> Table:
        """All rows as the search takes them, by cell."""
        return Table(self.work.root / "rows", np.dtype(np.float32), self.input.d)

    @property
    def row_ids(self) -> Table:
        """Their numbers."""
        return Table(self.work.root / "row_ids", np.dtype(np.int64), 1)
