"""``simifeat fitness``: whether the features of a source can be trusted with its labels."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

import click
import numpy as np

from simifeat.cli.loading import load
from simifeat.cli.options import (
    json_option,
    print_json,
    seed_option,
    source_options,
    threads_option,
)
from simifeat.cli.progress import progress_line
from simifeat.fitness import Fitness, assess
from simifeat.neighbors.base import Metric
from simifeat.neighbors.find import Engine

_SHOWN_KS = (1, 2, 3, 5, 10, 20, 30, 50)
_N_SIGMAS = 2
_MEANING = {
    "good": "neighbours mostly share their true class; verdicts can be trusted",
    "usable": "most obvious errors will be found; look at the verdicts before you act on them",
    "poor": "neighbours often have another class; use better features, such as embeddings",
    "unknown": "the labels do not follow the features at all, or there are too few rows",
}


@click.command()
@source_options
@click.option("--metric", type=click.Choice(get_args(Metric)), help="What near means.")
@click.option(
    "--engine",
    type=click.Choice(get_args(Engine)),
    default="auto",
    show_default=True,
    help="How neighbours are searched.",
)
@click.option("--against", metavar="COL|FILE", help="Other features of the same rows, to compare.")
@click.option("--against-extractor", metavar="NAME", help="Another extractor, to compare.")
@seed_option
@threads_option
@json_option
def command(
    metric: Metric | None,
    engine: Engine,
    against: str | None,
    against_extractor: str | None,
    seed: int,
    n_threads: int | None,
    as_json: bool,
    **where: Any,
) -> None:
    """Say whether the features of SOURCE are good enough, and for which k.

    Estimates, from the given labels alone, how often the k nearest neighbours all share the true
    class of an example, and the k whose vote is surest. With --against or --against-extractor,
    says so of other features too, and which are the better.
    """
    chosen = [where]
    if against is not None or against_extractor is not None:
        other = {"features": against, "extractor": against_extractor}
        chosen.append(where | {name: value for name, value in other.items() if value is not None})
    found: list[Fitness] = []
    with progress_line() as progress:
        for each in chosen:
            examples = load(**each, seed=seed, progress=progress)
            found.append(
                assess(
                    examples.features,  # type: ignore[arg-type]  # one epoch is an array
                    examples.labels,
                    metric=metric or examples.metric or "cosine",
                    engine=engine,
                    seed=seed,
                    n_threads=n_threads,
                    progress=progress,
                )
            )
    if as_json:
        print_json(_facts(found[0]) | ({"against": _facts(found[1])} if len(found) > 1 else {}))
    elif len(found) == 1:
        click.echo("\n".join(_lines(found[0])))
    else:
        first, second = found
        lines = ["these features", *_lines(first), "", "against", *_lines(second), ""]
        click.echo("\n".join([*lines, _comparison(first, second)]))


def _facts(fitness: Fitness) -> dict[str, Any]:
    derived = {name: getattr(fitness, name) for name in ("grade", "separation", "k")}
    return derived | {item.name: getattr(fitness, item.name) for item in fields(fitness)}


def _comparison(first: Fitness, second: Fitness) -> str:
    """Which of two is the better, by the agreement of nearest neighbours beyond chance.

    That is counted, not estimated, and label noise lowers it for both alike.
    """
    ours, theirs = (each.excess for each in (first, second))
    measured = f"same label beyond chance {ours:.1%} against {theirs:.1%}"
    if abs(ours - theirs) <= _N_SIGMAS * float(np.hypot(first.error, second.error)):
        return f"neither is clearly the better: {measured}"
    better = "these features are" if ours > theirs else "those compared against are"
    return f"{better} the better: {measured}"


def _lines(fitness: Fitness) -> list[str]:
    lines = [f"{fitness.grade}: {_MEANING[fitness.grade]}"]
    lines += [f"  ({reason})" for reason in fitness.reasons]
    lines += [
        "",
        f"nearest neighbour has the same label: {fitness.agreement:.1%} (by chance "
        f"{fitness.chance:.1%})",
        f"labels corrupted, by estimate: {fitness.noise_rate:.1%}",
        "",
        "  k  all k of the true class  vote is right, at least",
    ]
    for place, k in enumerate(fitness.ks.tolist()):
        if k in _SHOWN_KS or k == fitness.k:
            bound = "-" if fitness.bounds is None else f"{max(0, fitness.bounds[place]):.1%}"
            mark = "  <- highest" if k == fitness.k else ""
            lines.append(f"{k:>3}  {fitness.clusterability[place]:>23.1%}  {bound:>23}{mark}")
    return lines
