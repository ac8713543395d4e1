"""``simifeat detect`` on data larger than memory, or on a cluster: its options and its run."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simifeat.cli.loading import Examples, load
from simifeat.cli.options import print_json
from simifeat.distributed.opening import can_be_ranged
from simifeat.distributed.run import detect_files, forecast_files
from simifeat.distributed.work import Work
from simifeat.errors import InputError, OutputError
from simifeat.io.atomic import replacing
from simifeat.io.columns import to_arrow, type_tag
from simifeat.io.source import Progress
from simifeat.verdicts import Verdicts

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)


class Bytes(click.ParamType):  # type: ignore[type-arg]
    """A size such as 4GB (10^9 bytes each) or 512MiB (2^20)."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """The number of bytes."""
        found = _SIZE.fullmatch(str(value).strip())
        if found is None or (found[3] and not found[2]):
            self.fail(f"{value!r} is no size; give one such as 4GB or 512MiB", param, ctx)
        units = _BINARY if found[3] else _UNITS
        return int(float(found[1]) * units[found[2].upper()])


def scale_options(command: F) -> F:
    """Options of runs that are worked on in stages, gathered in one ``scale``."""
    for decorate in (
        click.option("--dry-run", is_flag=True, help="Say what a staged run costs, and stop."),
        click.option("--skip-bad", is_flag=True, help="Leave out files that cannot be read."),
        click.option(
            "--resume/--fresh", default=True, help="Go on with a run that was cut, or anew."
        ),
        click.option("--work", metavar="FOLDER", help="Where a staged run keeps its results."),
        click.option("--cluster", metavar="auto|ADDRESS", help="Run the stages on Ray."),
        click.option("--memory", type=Bytes(), help="Never take more memory, such as 4GB."),
    ):
        command = decorate(command)
    return command


@dataclass(frozen=True)
class Scale:
    """What was asked of a staged run."""

    memory: int | None
    cluster: str | None
    work: str | None
    resume: bool
    skip_bad: bool
    dry_run: bool

    def is_asked(self, source: str) -> bool:
        """Whether the run is to be in stages: by an option, or a pattern for several files."""
        chosen = (self.memory, self.cluster, self.work, self.dry_run or None)
        several = glob.has_magic(source) and can_be_ranged(source)
        return several or any(option is not None for option in chosen)

    def forecast(self, source: str, as_json: bool, **how: Any) -> None:
        """Print what the run would cost."""
        found = forecast_files(source, memory=self.memory, **how)
        facts = {
            "rows": found.size.n,
            "dimensions": found.size.d,
            "classes": found.size.n_classes,
            "neighbours": found.size.k,
            "threads": found.budget.n_threads,
            "seconds": round(found.seconds),
            "memory_bytes": found.memory,
            "disk_bytes": found.disk,
        }
        if as_json:
            print_json(facts)
            return
        click.echo(
            f"{found.size.n:,} rows of {found.size.d} dimensions, {found.size.n_classes:,} "
            f"classes, {found.size.k} neighbours:\n"
            f"  time    about {_duration(found.seconds)} on {found.budget.n_threads} threads here\n"
            f"  memory  at most {found.memory / 1e9:.1f} GB\n"
            f"  disk    {found.disk / 1e9:.1f} GB in the work folder, until it is done"
        )

    def detect(
        self,
        source: str,
        extractor: str | None,
        output: str | None,
        progress: Progress | None,
        **how: Any,
    ) -> Verdicts:
        """The verdicts; ``output`` names the work folder where ``--work`` does not.

        A source that is not features in files that can be read by ranges of rows is brought into
        such files first: what has to be extracted is, on the cluster if there is one.
        """
        work = self._work(output)
        origin = {name: how.get(name) for name in ("labels", "features", "id")}
        origin |= {"path": source, "extractor": extractor}
        ids = None
        if extractor is not None or not can_be_ranged(source):
            examples = self._extracted(source, extractor, progress, how)
            origin, ids = dict(examples.origin), examples.ids
            source, beside = _write_ranged(examples, _beside(work))
            how |= {"labels": beside, "features": None, "id": None, "groups": None}
            how["metric"] = how["metric"] or examples.metric
        verdicts = detect_files(
            source,
            work,
            memory=self.memory,
            cluster=self.cluster,
            fresh=not self.resume,
            skip_bad=self.skip_bad,
            keep=True,
            progress=progress,
            note=lambda text: click.echo(f"note: {text}", err=True),
            **how,
        )
        about = {**verdicts.metadata, "source": origin}
        return replace(verdicts, ids=verdicts.ids if ids is None else ids, metadata=about)

    def _extracted(
        self, source: str, extractor: str | None, progress: Progress | None, how: dict[str, Any]
    ) -> Examples:
        if how["groups"] is not None or (how["n_epochs"] or 1) > 1:
            raise InputError(
                f"{source} is no file of features, and --groups and --epochs are not known to a "
                "staged run on anything else; leave them out, or --memory, --cluster and --work"
            )
        spread = None
        if self.cluster is not None:
            from simifeat.distributed.extraction import OnRayData

            spread = OnRayData(self.cluster)
        where = (how["labels"], how["features"], extractor, how["id"])
        return load(source, *where, seed=how["seed"], progress=progress, spread=spread)

    def forget(self, output: str | None) -> None:
        """Remove the results of the stages: the verdicts are written."""
        work = self._work(output)
        Work(work).remove()
        Work(_beside(work)).remove()

    def _work(self, output: str | None) -> Path:
        if output is None and self.work is None:
            raise InputError("a staged run needs a place for its results; name a file with -o")
        return Path(self.work or f"{output}.work")


def _beside(work: Path) -> Path:
    """Where features that had to be extracted are kept for the run in ``work``."""
    return work.with_name(work.name + ".features")


def _write_ranged(examples: Examples, folder: Path) -> tuple[str, str]:
    """Features and labels in files of their own; their paths."""
    matrix = np.asarray(examples.features, np.float32)
    labels = pa.table(
        {"label": to_arrow(examples.labels, type_tag(examples.labels, "label"), "label")}
    )
    places = folder / "features.npy", folder / "labels.parquet"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot work in {folder}: {error.strerror or error}") from error
    with replacing(*places) as (rows, beside):
        np.save(rows, matrix)
        pq.write_table(labels, beside)
    return str(places[0]), str(places[1])


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
