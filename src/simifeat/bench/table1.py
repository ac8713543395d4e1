"""Table 1: features learnt without any label against networks trained on the noisy pictures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from simifeat.baselines.registry import detector
from simifeat.baselines.resnet import ResNetTrainer
from simifeat.baselines.training import Recipe
from simifeat.bench.cells import Group, Say, Store, run
from simifeat.bench.compare import f1_grid, groups
from simifeat.bench.data import FeatureFile, feature_files, one_extractor
from simifeat.bench.grid import Grid
from simifeat.bench.noisy import PAPER_NOISE, NoisyLabels
from simifeat.bench.paper import TABLE1
from simifeat.bench.pictures import PictureFile, extracted, has_pictures
from simifeat.bench.plots import plot_against_paper
from simifeat.bench.report import write_table
from simifeat.errors import InputError

METHODS = ("cores", "confident_learning", "tracin", "deep_knn", "vote", "rank", "propagate")


def table1(
    data: Path,
    output: Path,
    *,
    pictures: Path,
    extractor: str | None = None,
    datasets: tuple[str, ...] = ("cifar10", "cifar100"),
    methods: tuple[str, ...] = METHODS,
    noises: tuple[str, ...] = PAPER_NOISE,
    seeds: Sequence[int] = (0, 1, 2),
    limit: int | None = None,
    again: tuple[str, ...] = (),
    depth: int = 34,
    width: int = 64,
    n_epochs: int = 100,
    say: Say = lambda _: None,
) -> list[Grid]:
    """Compute what is missing, write table1.* to ``output`` and give back the tables.

    Trained methods see the pictures, the others the features of ``extractor`` in ``data``; without
    one, a small SimCLR is trained on the pictures first. States of trainings are in ``output``.
    """
    for method in methods:
        detector(method).load()
    there = tuple(name for name in datasets if has_pictures(pictures, name))
    if not there:
        raise InputError(f"{pictures} holds the pictures of none of {', '.join(datasets)}")
    files = _features(data, output, pictures, there, extractor, say)
    labels = [NoisyLabels(data, file) for file in files]
    for each in labels:
        for noise in noises:
            each.check(noise)
    store = Store(output / "cells")
    trainer = partial(ResNetTrainer, Recipe(n_epochs), depth, width, output / "trainings")
    work: list[Group] = []
    for file, each in zip(files, labels, strict=True):
        choices = (noises, methods, seeds, limit, store.folder, trainer, say, again)
        work += groups("table1", file, each, *choices, PictureFile(file.dataset, pictures))
    results = run(work, store, 1, say)  # a training has all cores to itself
    what = f"ResNet-{depth}, {width} channels, {n_epochs} epochs, on the pictures; " + (
        f"the rest on features of {', '.join(sorted({file.extractor for file in files}))}"
    )
    arguments = (results, "table1", files, noises, methods, seeds, TABLE1)
    grids = [f1_grid(f"F1 (%). {what}; in brackets the paper's", *arguments)]
    write_table(
        output,
        "table1",
        grids,
        {
            "seeds": list(seeds),
            "limit": limit,
            "trainer": repr(trainer()),
            "cells": {name: dict(result) for name, result in results.items()},
        },
    )
    plot_against_paper(grids[0], output / "table1.png")
    return grids


def _features(
    data: Path,
    output: Path,
    pictures: Path,
    datasets: tuple[str, ...],
    extractor: str | None,
    say: Say,
) -> list[FeatureFile]:
    if extractor is not None:
        return one_extractor(feature_files(data, datasets), extractor)
    made = (extracted(pictures, name, output / "features", ("simclr",), say) for name in datasets)
    return [file for files in made for file in files]
