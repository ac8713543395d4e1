"""``simifeat bench``: the paper's tables and figures."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from simifeat.errors import InputError


@click.group()
def command() -> None:
    """Run a table or figure of the paper, its own figures beside ours.

    Results go to a folder as JSON, Markdown, LaTeX and plots. Every cell is kept in it: a run that
    was cut goes on at the missing cell when it is started again.
    """


def _names(_: Any, __: Any, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(name for name in value.split(",") if name)


def _seeds(_: Any, __: Any, value: str) -> tuple[int, ...]:
    """ "3" is 0, 1, 2; "5,7" is 5 and 7."""
    try:
        numbers = tuple(int(each) for each in value.split(","))
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 0 or numbers == (0,):
        raise InputError(f"--seeds is {value!r}; give a number of seeds, or seeds with commas")
    return tuple(range(numbers[0])) if "," not in value else numbers


def _options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    known = {
        "data": click.option(
            "--data",
            required=True,
            type=click.Path(path_type=Path),
            help="Folder of feature files and labels; docs/baselines.md says how they are named.",
        ),
        "clothing": click.option(
            "--data",
            required=True,
            type=click.Path(path_type=Path),
            help="Folder of Clothing1M: its lists of keys and labels, and images/.",
        ),
        "output": click.option(
            "-o",
            "--output",
            default=Path("simifeat-bench"),
            show_default=True,
            type=click.Path(path_type=Path),
            help="Folder for the results and their cells.",
        ),
        "pictures": click.option(
            "--pictures",
            type=click.Path(path_type=Path),
            help="Folder of the CIFAR pictures, binary version.",
        ),
        "download": click.option(
            "--download", is_flag=True, help="Fetch CIFAR into that folder where it is missing."
        ),
        "extractors": click.option(
            "--extractors", callback=_names, help="Which features to make of the pictures."
        ),
        "datasets": click.option("--datasets", callback=_names, help="Such as cifar10,cifar100."),
        "extractor": click.option("--extractor", help="Which features, if there are several."),
        "methods": click.option(
            "--methods", callback=_names, help="Names with commas, or module:function of your own."
        ),
        "noises": click.option(
            "--noise", "noises", callback=_names, help="Such as human,symm60,asym30,inst40."
        ),
        "seeds": click.option(
            "--seeds", default="3", show_default=True, callback=_seeds, help="How many, or which."
        ),
        "one_seed": click.option(
            "--seeds", default="1", show_default=True, callback=_seeds, help="How many, or which."
        ),
        "again": click.option(
            "--again",
            callback=_names,
            help="Methods whose cells are computed anew where other code made them.",
        ),
        "limit": click.option("--limit", type=click.IntRange(20), help="So many examples only."),
        "depth": click.option(
            "--depth", type=int, help="Layers of the ResNet trained; by default the paper's."
        ),
        "width": click.option(
            "--width",
            type=click.IntRange(1),
            help="Channels of its first stage; by default the paper's 64.",
        ),
        "epochs": click.option(
            "--epochs",
            "n_epochs",
            type=click.IntRange(1),
            help="Epochs of a training; by default the paper's.",
        ),
        "selections": click.option(
            "--selections",
            callback=_names,
            help="none, warmup, or extractors such as efficientnet-lite0 or onnx:PATH.",
        ),
        "rounds": click.option(
            "--rounds",
            "n_rounds",
            type=click.IntRange(1),
            help="Rounds of detection; by default the paper's 600.",
        ),
        "batches": click.option(
            "--batches",
            "n_batches",
            type=click.IntRange(1),
            help="Mini-batches of 32 in a round and in an epoch; by default the paper's 1,000.",
        ),
        "size": click.option(
            "--size", type=click.IntRange(8), help="Pixels a side; by default the paper's 224."
        ),
        "rate": click.option(
            "--rate",
            "learning_rate",
            type=click.FloatRange(0, min_open=True),
            help="Learning rate of the first half; .002 by default.",
        ),
        "weights": click.option(
            "--weights",
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            help="Weights to start from, torchvision's names; random without.",
        ),
        "jobs": click.option(
            "--jobs", "n_jobs", type=click.IntRange(1), help="Processes; by default one a core."
        ),
    }

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            function = known[name](function)
        return function

    return decorate


def _given(choices: dict[str, Any]) -> dict[str, Any]:
    """What was said on the command line; the rest is left to the table."""
    if choices.pop("download", False):
        from simifeat.bench.download import fetch_pictures

        if choices["pictures"] is None:
            raise InputError("--download needs a folder; give it with --pictures")
        for dataset in choices["datasets"] or ("cifar10",):
            fetch_pictures(choices["pictures"], dataset, _say)
    if "n_jobs" in choices and choices["n_jobs"] is None:
        choices["n_jobs"] = os.cpu_count() or 1
    return {name: value for name, value in choices.items() if value is not None}


def _say(line: str) -> None:
    click.echo(line, err=True)


def _print(grids: list[Any], output: Path) -> None:
    for grid in grids:
        click.echo(grid.text() + "\n")
    click.echo(f"written to {output}", err=True)


@command.command()
@_options(
    "data",
    "output",
    "pictures",
    "download",
    "datasets",
    "extractor",
    "methods",
    "noises",
    "seeds",
    "limit",
    "again",
    "depth",
    "width",
    "epochs",
)
def table1(**choices: Any) -> None:
    """Features learnt without labels against ResNets trained on the noisy pictures."""
    from simifeat.bench.table1 import table1 as compute

    if choices["pictures"] is None:
        raise InputError("table1 trains on pictures; give their folder with --pictures")
    _print(compute(say=_say, **_given(choices)), choices["output"])


@command.command()
@_options(
    "data",
    "output",
    "datasets",
    "extractor",
    "methods",
    "noises",
    "seeds",
    "limit",
    "again",
    "jobs",
)
def table2(**choices: Any) -> None:
    """Every method on the same fixed features."""
    from simifeat.bench.table2 import table2 as compute

    _print(compute(say=_say, **_given(choices)), choices["output"])


@command.command()
@_options(
    "data",
    "output",
    "pictures",
    "download",
    "extractors",
    "datasets",
    "methods",
    "noises",
    "seeds",
    "limit",
    "again",
    "jobs",
)
def table3(**choices: Any) -> None:
    """The quality of features, 1 - delta_k, against F1."""
    from simifeat.bench.table3 import table3 as compute

    _print(compute(say=_say, **_given(choices)), choices["output"])


_SCHEDULE = ("n_epochs", "n_batches", "size", "learning_rate", "depth", "width", "weights")


@command.command()
@_options(
    "clothing",
    "output",
    "selections",
    "rounds",
    "one_seed",
    "limit",
    "depth",
    "width",
    "weights",
    "size",
    "epochs",
    "batches",
    "rate",
)
def table4(**choices: Any) -> None:
    """Clothing1M: training on what was selected, and on everything."""
    from simifeat.bench.schedule import Schedule
    from simifeat.bench.table4 import table4 as compute

    given = _given(choices)
    schedule = Schedule(**{name: given.pop(name) for name in _SCHEDULE if name in given})
    _print(compute(say=_say, schedule=schedule, **given), choices["output"])


@command.command()
@_options("data", "output", "pictures", "download", "extractors", "datasets", "limit")
def figure3(**choices: Any) -> None:
    """delta_k and the lower bound of Proposition 1 against k."""
    from simifeat.bench.figure3 import figure3 as compute

    _print(compute(say=_say, **_given(choices)), choices["output"])
