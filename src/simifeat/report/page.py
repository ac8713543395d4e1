"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from simifeat.fitness import GOOD, USABLE
from simifeat.report.charts import line_chart, matrix_chart, score_chart, yield_chart
from simifeat.report.gallery import Card, Look, NeighborCard
from simifeat.report.summary import Budget, ClassLine, Summary
from simifeat.review.show import one_line, visible

_MOST_CLASSES = 200


def render(summary: Summary, cards: Sequence[Card]) -> str:
    """The page; names, labels, ids and texts are taken for hostile."""
    style, script = (_asset(name) for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    sections = [
        _section("features", "Can the features be trusted?", _features(summary)),
        _section("transition", "What becomes what?", _transition(summary)),
        _section("classes", "Which classes?", _classes(summary.classes)),
        _section("scores", "How clear is it?", _scores(summary)),
        _section("yield", "What does a review find?", _yield(summary)),
        _section("examples", "The most suspicious", _gallery(cards)),
        _section("made", "How this was made", _made(summary)),
    ]
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title, _ in sections)
    body = "".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{title}</h2>{content}</section>'
        for name, title, content in sections
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=True)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Label report</title><style>{style}</style></head><body><main>"
        f'<h1>Label report</h1>{_answer(summary)}<nav aria-label="Sections">{links}</nav>{body}'
        f"</main><script>{script}</script></body></html>"
    )


def _section(name: str, title: str, content: str) -> tuple[str, str, str]:
    return name, title, content


def answer(summary: Summary) -> str:
    """The report in one sentence."""
    n = summary.n_examples
    if not summary.identifiable:
        return (
            f"How many of the {n:,} labels are wrong cannot be known from these features; "
            f"{summary.n_corrupted:,} look corrupted."
        )
    if summary.noise_interval is None:
        wrong = summary.expected_corrupted
        sure = f"{wrong / n:.1%}"
    else:
        wrong = summary.noise_rate * n
        sure = f"{summary.noise_rate:.1%}, {_interval(summary)}"
    named = f"{summary.n_corrupted:,} are named here."
    return f"About {wrong:,.0f} of {n:,} labels are wrong ({sure}); {named}"


def _interval(summary: Summary) -> str:
    if summary.noise_interval is None or summary.level is None:
        return ""
    low, high = summary.noise_interval
    return f"between {low:.1%} and {high:.1%} with {summary.level:.0%} confidence"


def _answer(summary: Summary) -> str:
    text = f'<p class="answer">{escape(answer(summary))}</p>'
    if summary.reasons:
        reasons = "".join(f"<li>{escape(visible(reason, 500))}</li>" for reason in summary.reasons)
        text += (
            '<div class="warning"><strong>Not identifiable.</strong> '
            f"Take T and the noise rate with care:<ul>{reasons}</ul></div>"
        )
    return text + _key_figures(summary)


def _key_figures(summary: Summary) -> str:
    """What people quote, above everything else."""
    tiles = [(f"{summary.n_corrupted:,}", f"of {summary.n_examples:,} labels named as corrupted")]
    if summary.identifiable:
        known = _interval(summary) or "expected from P(corrupted)"
        rate = summary.noise_rate if summary.noise_interval else _expected_rate(summary)
        tiles.append((f"{rate:.1%}", f"of all labels wrong, {known}"))
    if summary.agreement:
        near, far = summary.agreement[0], summary.chance_agreement
        text = f"of nearest neighbours bear the same label, {far:.0%} of strangers"
        tiles.append((f"{near:.0%}", text))
    best = _quoted(summary)
    text = f"wrong labels expected among the {best.reviewed:,} most suspicious"
    tiles.append((f"{best.expected:,.0f}", text))
    items = "".join(f"<div><dt>{text}</dt><dd>{number}</dd></div>" for number, text in tiles)
    return f'<dl class="tiles">{items}</dl>'


def _expected_rate(summary: Summary) -> float:
    return summary.expected_corrupted / summary.n_examples


def _quoted(summary: Summary) -> Budget:
    """The budget to quote: 500 labels, or all."""
    return next((b for b in summary.budgets if b.reviewed >= 500), summary.budgets[-1])


def _features(summary: Summary) -> str:
    if not summary.agreement:
        return "<p>The verdicts do not say how often neighbours' labels agree.</p>"
    first, chance = summary.agreement[0], summary.chance_agreement
    share = summary.clusterability[0] if summary.clusterability else first
    separation = (share - chance) / max(1 - chance, 1e-9)
    if not summary.identifiable:
        verdict = "No, not for these labels: see the warning above."
    elif separation >= GOOD:
        verdict = "Yes. The nearest example is nearly always of the same class."
    elif separation >= USABLE:
        verdict = "With care. The nearest example is often of another class."
    else:
        verdict = "Hardly. The nearest example is of another class about as often as not."
    description = (
        f"An example and its nearest neighbour bear the same label in {first:.0%} of all cases, "
        f"and its neighbour number {len(summary.agreement)} does in {summary.agreement[-1]:.0%}. "
        f"Strangers do in {chance:.0%}."
    )
    ranks = list(range(1, len(summary.agreement) + 1))
    chart = line_chart(
        ranks,
        [("neighbours", summary.agreement), ("strangers", [chance] * len(ranks))],
        "Agreement of neighbours",
        description,
    )
    return (
        f'<p><strong>{verdict}</strong> {description}</p><div class="pair">'
        + _figure(chart, "Share of equal labels by the rank of the neighbour.")
        + _choice_of_k(summary)
        + "</div>"
    )


def _choice_of_k(summary: Summary) -> str:
    """The k and bound curve of the paper's third figure."""
    if not summary.vote_bounds:
        return ""
    ks = list(range(1, len(summary.clusterability) + 1))
    best = max(ks, key=lambda k: (summary.vote_bounds[k - 1], -k))
    description = (
        f"All {ks[-1]} nearest neighbours are of one class in "
        f"{summary.clusterability[-1]:.0%} of all cases, the nearest alone in "
        f"{summary.clusterability[0]:.0%}. A vote of neighbours has its highest guarantee, "
        f"{summary.vote_bounds[best - 1]:.0%}, at k = {best}."
    )
    chart = line_chart(
        ks,
        [("guarantee", summary.vote_bounds), ("one class", summary.clusterability)],
        "Choice of k",
        description,
    )
    caption = f"{description} Estimated from the suggested labels (Definition 1 and Proposition 1)."
    return _figure(chart, caption)


def _classes(classes: Sequence[ClassLine]) -> str:
    rows = [
        [
            _text(line.name),
            _count(line.n_examples),
            _count(line.n_corrupted),
            _share(line.n_corrupted / max(line.n_examples, 1)),
            _count(line.expected),
            _text("-")
            if line.most_often is None
            else _text(f"{one_line(line.most_often)} ({line.most_often_share:.0%})"),
        ]
        for line in classes[:_MOST_CLASSES]
    ]
    heads = ["Given label", "#Examples", "#Named", "#Share", "#Expected wrong", "Most often really"]
    note = "Named: labels found corrupted. Expected wrong: the sum of P(corrupted) over the class."
    if len(classes) > _MOST_CLASSES:
        note += f" The {len(classes) - _MOST_CLASSES:,} classes with the lowest share are left out."
    return _table(heads, rows, note)


def _transition(summary: Summary) -> str:
    matrix = summary.matrix
    names = [one_line(name) for name in matrix.names]
    pairs = ", ".join(
        f"{one_line(pair.given)} for {one_line(pair.suggested)} ({pair.count:,})"
        for pair in summary.pairs[:3]
    )
    description = f"Probability of each label given the true class, for {len(names)} classes. " + (
        f"Most often given wrongly: {pairs}." if pairs else "No pair stands out."
    )
    left = (
        f" {matrix.n_left_out:,} classes that lose less are left out." if matrix.n_left_out else ""
    )
    chart = matrix_chart(matrix, names, description)
    table = _table(
        ["Given label", "Probably", "#Labels"],
        [[_text(p.given), _text(p.suggested), _count(p.count)] for p in summary.pairs],
        "The most frequent mix-ups among the labels named.",
    )
    return (
        '<div class="pair">'
        + _figure(
            f'<div class="wide">{chart}</div>',
            "Rows: the true class. Columns: the label given, in per cent. Right labels are pale, "
            f"wrong ones the stronger the more frequent.{left}",
        )
        + table
        + "</div>"
    )


def _scores(summary: Summary) -> str:
    flagged, n = summary.n_corrupted, summary.n_examples
    description = (
        f"{flagged:,} labels are named as corrupted and {n - flagged:,} are kept; "
        "a higher score is cleaner. "
    )
    if summary.scores.cut is None and flagged and flagged < n:
        description += "No single score parts them: each class has its own cut."
    key = '<span class="key wrong"></span>named as corrupted<span class="key right"></span>kept. '
    return _figure(score_chart(summary.scores, description), key + description, safe=True)


def _yield(summary: Summary) -> str:
    steps = summary.budgets
    middle = _quoted(summary)
    description = (
        f"Review the {middle.reviewed:,} most suspicious labels: about {middle.expected:,.0f} of "
        "them are wrong."
    )
    table = _table(
        ["#Reviewed", "#Wrong, expected", "#Of those reviewed", "#Of all wrong"],
        [
            [
                _count(b.reviewed),
                _count(b.expected),
                _share(b.expected / b.reviewed),
                _share(b.expected / max(summary.expected_corrupted, 1e-9)),
            ]
            for b in steps
        ],
        "Expected from P(corrupted), most suspicious first.",
    )
    chart = yield_chart(steps, description)
    caption = "Wrong labels found against labels reviewed; dashed: reviewed in any order."
    return (
        f"<p><strong>{description}</strong></p>"
        f'<div class="pair">{_figure(chart, caption)}{table}</div>'
    )


def _gallery(cards: Sequence[Card]) -> str:
    if not cards:
        return "<p>No label is named as corrupted.</p>"
    return f'<ol class="cards">{"".join(map(_card, cards))}</ol>'


def _card(card: Card) -> str:
    label, suggested = one_line(card.label), one_line(card.suggested)
    near = ""
    if card.neighbors:
        plain = "" if card.neighbors[0].look.picture else " plain"
        items = "".join(map(_neighbor, card.neighbors))
        near = f'<ul class="near{plain}" aria-label="Nearest neighbours">{items}</ul>'
    return (
        f'<li class="card"><h3><bdi class="given">{escape(label)}</bdi> &rarr; '
        f'<bdi class="instead">{escape(suggested)}</bdi></h3>'
        f"{_look(card.look, f'Example labelled {label}', 'big')}"
        f"<dl><dt>id</dt><dd><bdi>{escape(one_line(card.id))}</bdi></dd>"
        f"<dt>P(corrupted)</dt><dd>{card.p_corrupted:.2f}</dd></dl>{near}</li>"
    )


def _neighbor(neighbor: NeighborCard) -> str:
    label = one_line(neighbor.label)
    look = _look(neighbor.look, f"Neighbour labelled {label}", "")
    return f"<li>{look}<bdi>{escape(label)}</bdi> <span>{neighbor.similarity:.2f}</span></li>"


def _look(look: Look, name: str, kind: str) -> str:
    parts = ""
    if look.picture is not None:
        parts = f'<img class="{kind}" src="{look.picture}" alt="{escape(name, quote=True)}">'
    elif look.text is not None:
        parts = (
            f'<blockquote tabindex="0"><bdi>{escape(visible(look.text, 600))}</bdi></blockquote>'
        )
    if look.fields:
        pairs = "".join(
            f"<dt>{escape(one_line(name))}</dt><dd><bdi>{escape(one_line(value))}</bdi></dd>"
            for name, value in look.fields
        )
        parts += f"<dl>{pairs}</dl>"
    return parts


def _made(summary: Summary) -> str:
    stored = summary.metadata
    lines = [
        ("Method", stored.get("settings", {}).get("method")),
        ("Version", stored.get("version")),
        ("Seed", stored.get("seed")),
        ("Rounds", stored.get("n_rounds")),
        ("Neighbours", stored.get("engine_reason")),
        ("Recall of neighbours", stored.get("recall")),
        ("Fingerprint of the data", stored.get("fingerprint")),
        ("Settings", json.dumps(stored.get("settings", {}), default=str)),
    ]
    rows = [[_text(name), _text(str(value))] for name, value in lines if value is not None]
    return _table(["What", "Value"], rows, "Enough to make the same verdicts again.", sort=False)


Cell = tuple[str, str, bool]  # what is shown, what it is sorted by, whether it is a number


def _text(value: str) -> Cell:
    shown = one_line(value, 1000)
    return escape(shown), shown, False


def _count(value: float) -> Cell:
    return f"{value:,.0f}", f"{value:.6g}", True


def _share(value: float) -> Cell:
    return f"{value:.1%}", f"{value:.6g}", True


def _table(heads: list[str], rows: Iterable[list[Cell]], caption: str, sort: bool = True) -> str:
    """``heads`` that begin with # stand over numbers."""
    head = "".join(
        f'<th scope="col"{_number_class(name.startswith("#"))}>{escape(name.lstrip("#"))}</th>'
        for name in heads
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td{_number_class(number)} data-value="{escape(value, quote=True)}">'
            f"<bdi>{shown}</bdi></td>"
            for shown, value, number in row
        )
        + "</tr>"
        for row in rows
    )
    kind = ' class="sortable"' if sort else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption, quote=True)}">'
        f"<table{kind}><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _number_class(number: bool) -> str:
    return ' class="number"' if number else ""


def _figure(picture: str, caption: str, safe: bool = False) -> str:
    return (
        f"<figure>{picture}<figcaption>{caption if safe else escape(caption)}</figcaption></figure>"
    )


def _asset(name: str) -> str:
    return files("simifeat.report").joinpath(name).read_text(encoding="utf-8")
