"""Pictures of a report as SVG text. Every one has a name and a description for those who listen.

Colours are CSS variables of the page, so that pictures follow light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from simifeat.report.summary import Budget, Histogram, Matrix

_WIDTH = 640


def matrix_chart(matrix: Matrix, names: Sequence[str], description: str) -> str:
    """T as a heat map; ``names`` are those of ``matrix``, fit to be shown.

    Wrong labels are drawn against the largest of them, right ones stay pale: what goes wrong is
    what people look for.
    """
    k = len(names)
    widest = max(min(len(name), 14) for name in names)
    left, top, right = 14 + 7 * widest, 12 + 6 * widest, 5 * widest  # names lean to the right
    cell = max(14.0, min(44.0, (_WIDTH - left - right) / k))
    wrong = [v for i, row in enumerate(matrix.values) for j, v in enumerate(row) if i != j]
    most = max([*wrong, 1e-9])
    parts = []
    for i, row in enumerate(matrix.values):
        y = top + i * cell
        parts.append(
            f'<text x="{left - 6}" y="{y + cell / 2 + 4:.1f}" text-anchor="end">'
            f"{_short(names[i])}</text>"
        )
        x = left + i * cell + cell / 2
        parts.append(
            f'<text transform="translate({x:.1f} {top - 6}) rotate(-50)">{_short(names[i])}</text>'
        )
        for j, value in enumerate(row):
            kind = "right" if i == j else "wrong"
            strength = 0.35 * value if i == j else 0.8 * value / most
            x = left + j * cell
            parts.append(
                f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{cell - 1:.1f}" '
                f'height="{cell - 1:.1f}" style="fill-opacity:{strength:.3f}">'
                f"<title>true {escape(names[i])}, labelled {escape(names[j])}: {value:.1%}</title>"
                "</rect>"
            )
            if cell >= 30 and value >= 0.005:
                parts.append(
                    f'<text class="cell" x="{x + cell / 2:.1f}" y="{y + cell / 2 + 4:.1f}" '
                    f'text-anchor="middle">{100 * value:.0f}</text>'
                )
    size = k * cell
    return _svg(left + size + right, top + size, "Transition matrix", description, parts)


def score_chart(histogram: Histogram, description: str) -> str:
    """Scores as stacked bars, flagged ones below."""
    height, left, bottom = 200, 44, 26
    most = max(1, *(a + b for a, b in zip(histogram.kept, histogram.flagged, strict=True)))
    n = len(histogram.kept)
    width = (_WIDTH - left) / n
    parts = []
    for i, (kept, flagged) in enumerate(zip(histogram.kept, histogram.flagged, strict=True)):
        base = float(height)
        low, high = histogram.edges[i], histogram.edges[i + 1]
        for kind, count in (("wrong", flagged), ("right", kept)):
            tall = (height - 10) * count / most
            base -= tall
            if count:
                word = "named" if kind == "wrong" else "kept"
                parts.append(
                    f'<rect class="{kind} bar" x="{left + i * width:.1f}" y="{base:.1f}" '
                    f'width="{width - 1:.1f}" height="{tall:.1f}">'
                    f"<title>score {low:.2f} to {high:.2f}: {count:,} {word}</title></rect>"
                )
    low, high = histogram.edges[0], histogram.edges[-1]
    if histogram.cut is not None:
        x = left + (_WIDTH - left) * (histogram.cut - low) / (high - low)
        parts += [
            f'<line class="cut" x1="{x:.1f}" y1="4" x2="{x:.1f}" y2="{height}"/>',
            f'<text x="{x + 6:.1f}" y="16">cut at {_number(histogram.cut)}</text>',
        ]
    parts += _axis_x(left, height, low, high, _WIDTH)
    parts += _axis_y(left, height, most)
    return _svg(_WIDTH, height + bottom, "Scores", description, parts)


def yield_chart(budgets: Sequence[Budget], description: str) -> str:
    """Corrupted labels found against labels reviewed, beside the line of reviewing at random."""
    height, left, bottom = 220, 60, 26
    n = budgets[-1].reviewed
    most = max(budgets[-1].expected, 1e-9)

    def point(reviewed: float, expected: float) -> str:
        x = left + (_WIDTH - left - 8) * reviewed / n
        return f"{x:.1f},{height - (height - 12) * expected / most:.1f}"

    line = " ".join([point(0, 0), *(point(b.reviewed, b.expected) for b in budgets)])
    parts = [
        f'<polyline class="faint" points="{point(0, 0)} {point(n, most)}"/>',
        f'<polyline class="strong" points="{line}"/>',
    ]
    parts += _axis_x(left, height, 0, n)
    parts += _axis_y(left, height, most)
    return _svg(_WIDTH, height + bottom, "Expected yield", description, parts)


def line_chart(
    xs: Sequence[float], lines: Sequence[tuple[str, Sequence[float]]], name: str, description: str
) -> str:
    """Shares (0 to 1) against ``xs``; each line carries its name at its end."""
    height, left, right, bottom = 200, 44, 120, 26
    low, high = min(xs), max(xs)
    span = max(high - low, 1e-9)
    parts = []
    taken: list[float] = []  # heights at which a name stands
    for number, (label, values) in enumerate(lines):
        along = [left + (_WIDTH - left - right) * (x - low) / span for x in xs]
        points = [
            f"{x:.1f},{height - (height - 12) * v:.1f}" for x, v in zip(along, values, strict=True)
        ]
        kind = "strong" if number == 0 else "faint"
        parts.append(f'<polyline class="{kind}" points="{" ".join(points)}"/>')
        y = float(points[-1].split(",")[1])
        while any(abs(y - other) < 15 for other in taken):
            y += 15 if number % 2 == 0 else -15
        taken.append(y)
        parts.append(f'<text x="{_WIDTH - right + 6}" y="{y + 4:.1f}">{escape(label)}</text>')
    parts += _axis_x(left, height, low, high, _WIDTH - right)
    for share in (0, 0.5, 1):
        y = height - (height - 12) * share
        parts.append(
            f'<line class="axis" x1="{left}" y1="{y}" x2="{_WIDTH - right}" y2="{y}"/>'
            f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{share:.0%}</text>'
        )
    return _svg(_WIDTH, height + bottom, name, description, parts)


def _axis_x(
    left: float, height: float, low: float, high: float, right: float = _WIDTH - 8
) -> list[str]:
    middle = round((low + high) / 2) if high - low > 2 else (low + high) / 2
    at = left + (right - left) * (middle - low) / max(high - low, 1e-9)
    return [
        f'<line class="axis" x1="{left}" y1="{height}" x2="{right}" y2="{height}"/>',
        *(
            f'<text x="{x:.1f}" y="{height + 18}" text-anchor="{anchor}">{_number(value)}</text>'
            for x, anchor, value in (
                (left, "start", low),
                (at, "middle", middle),
                (right, "end", high),
            )
        ),
    ]


def _axis_y(left: float, height: float, most: float) -> list[str]:
    return [
        f'<text x="{left - 6}" y="{y}" text-anchor="end">{_number(value)}</text>'
        for y, value in ((height, 0), (16, most))
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 20 else f"{value:.2f}".rstrip("0").rstrip(".")


def _short(name: str) -> str:
    return escape(name if len(name) <= 14 else name[:13] + "…")


def _svg(width: float, height: float, name: str, description: str, parts: list[str]) -> str:
    label = escape(f"{name}. {description}", quote=True)
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{label}" '
        f'style="max-width:{width:.0f}px">{"".join(parts)}</svg>'
    )
