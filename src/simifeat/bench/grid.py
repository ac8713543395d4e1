"""A table of figures with the paper's beside them, as text, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Figure:
    """One entry: our runs of it and what the paper prints, if it does."""

    runs: tuple[float, ...]
    paper: float | None = None

    @property
    def mean(self) -> float:
        """Mean over the runs."""
        return float(np.mean(self.runs))

    @property
    def spread(self) -> float | None:
        """Standard deviation between runs; None for one run."""
        return float(np.std(self.runs, ddof=1)) if len(self.runs) > 1 else None


@dataclass(frozen=True)
class Grid:
    """Rows by columns; an entry may be missing."""

    title: str
    corner: str
    """What the rows are."""
    rows: Sequence[str]
    columns: Sequence[str]
    figures: Mapping[tuple[str, str], Figure]
    """By row and column."""
    n_best: int = 0
    """How many of each column are set in bold."""
    digits: int = 2
    notes: Sequence[str] = field(default_factory=tuple)

    def text(self) -> str:
        """Columns aligned, our figure and the paper's in brackets."""
        table = [[self.corner, *self.columns]]
        for row in self.rows:
            table.append([row, *(self._entry(row, column, "{}") for column in self.columns)])
        widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
        lines = [
            "  ".join([line[0].ljust(widths[0])] + [e.rjust(w) for e, w in _rest(line, widths)])
            for line in table
        ]
        return "\n".join([self.title, "", *lines, *([""] if self.notes else []), *self.notes])

    def markdown(self) -> str:
        """A Markdown table."""
        lines = [
            f"| {' | '.join([self.corner, *self.columns])} |",
            f"| {' | '.join(['---'] * (1 + len(self.columns)))} |",
        ]
        for row in self.rows:
            entries = [self._entry(row, column, "**{}**") for column in self.columns]
            lines.append(f"| {' | '.join([row, *entries])} |")
        notes = [f"\n{note}" for note in self.notes]
        return "\n".join([f"### {self.title}", "", *lines, *notes]) + "\n"

    def latex(self) -> str:
        """A LaTeX table for the package booktabs."""
        body = [
            " & ".join(
                [_escaped(row)]
                + [self._entry(row, c, r"\textbf{{{}}}", " $\\pm$ ") for c in self.columns]
            )
            + r" \\"
            for row in self.rows
        ]
        return "\n".join(
            [
                r"\begin{table}",
                rf"\caption{{{_escaped(self.title)}}}",
                rf"\begin{{tabular}}{{l{'r' * len(self.columns)}}}",
                r"\toprule",
                " & ".join(_escaped(name) for name in [self.corner, *self.columns]) + r" \\",
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                *(f"% {note}" for note in self.notes),
                "",
            ]
        )

    def _entry(self, row: str, column: str, bold: str, between: str = " ± ") -> str:
        figure = self.figures.get((row, column))
        if figure is None:
            return "-"
        ours = f"{figure.mean:.{self.digits}f}"
        if (row, column) in self._best(column):
            ours = bold.format(ours)
        if figure.spread is not None:
            ours += f"{between}{figure.spread:.{self.digits}f}"
        return ours if figure.paper is None else f"{ours} ({figure.paper:.{self.digits}f})"

    def _best(self, column: str) -> list[tuple[str, str]]:
        there = [(row, column) for row in self.rows if (row, column) in self.figures]
        return sorted(there, key=lambda place: -self.figures[place].mean)[: self.n_best]


def _rest(line: list[str], widths: list[int]) -> list[tuple[str, int]]:
    return list(zip(line[1:], widths[1:], strict=True))


def _escaped(text: str) -> str:
    for character in "&%$#_":
        text = text.replace(character, f"\\{character}")
    return text
