"""The stages of a run, from files to the neighbour graph.

    read     [part]   check the rows, pick those of the samples
    kin               which rows are copies or of one group, and how many neighbours that takes
    survey            cells from the sample
    assign   [part]   the cell of every row; true neighbours, among these rows, of the audited ones
    layout            where each cell's rows go; how many cells are searched for a row
    place    [part]   the rows, by cell, into one file
    search   [group]  neighbours of the rows of some cells
    graph    [part]   neighbours in the order of the input, those that may vote

Each is a function of the job and a number. It reads what earlier stages wrote and writes one
result, the same whenever and wherever it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.distributed.job import Job
from simifeat.groups import Kin, copies_among, group_codes, make_kin
from simifeat.neighbors import Neighbors
from simifeat.neighbors.approximate import ROWS_TOGETHER, Plan, cell_groups, describe
from simifeat.neighbors.cell_search import Search, search_cells
from simifeat.neighbors.cells import CELL_SIZE, Cells, fit_cells
from simifeat.neighbors.duplicates import equal_rows, row_sums
from simifeat.neighbors.find import in_order_of_similarity
from simifeat.neighbors.points import Points, largest_of, prepared, scale_for
from simifeat.neighbors.recall import Truth, merge_codes, true_codes


def read(job: Job, part: int) -> None:
    """Check the rows of a part and keep those that the samples want."""
    start, stop = job.bounds(part)
    rows = job.input.rows(start, stop)
    plan = Plan.draw(job.input.n, job.search_seed)
    picked = {}
    for name, wanted in (("sample", plan.sample), ("audited", plan.audited)):
        here = wanted[(wanted >= start) & (wanted < stop)]
        picked[name] = rows[here - start]
    job.work.save("read", part, largest=largest_of(rows), sums=row_sums(rows, 2), **picked)


def kin(job: Job, _: int) -> None:
    """Codes [c, n] of rows that may not vote for each other; ``k`` neighbours are searched."""
    n, groups = job.input.n, job.input.groups()
    copies = None
    if job.settings.duplicates == "apart":
        sums = [job.work.load("read", part, "sums")["sums"] for part in range(job.n_parts)]
        copies = copies_among(equal_rows(np.concatenate(sums)), job.k)
    apart = make_kin(None if groups is None else group_codes(groups, n), copies)
    k = min(apart.n_searched(job.k, n), n - 1)
    codes = np.stack(apart.codes) if apart.codes else np.empty((0, n), np.int64)
    job.work.save("kin", 0, k=k, codes=codes)


def survey(job: Job, _: int) -> None:
    """Fit the cells."""
    names = ("largest", "sample", "audited")
    parts = [job.work.load("read", part, *names) for part in range(job.n_parts)]
    metric = job.settings.metric
    scale = scale_for(metric, max(float(part["largest"]) for part in parts))
    sample, audited = (
        prepared(np.concatenate([part[name] for part in parts]), metric, scale)
        for name in ("sample", "audited")
    )
    plan = Plan.draw(job.input.n, job.search_seed)
    cells = fit_cells(sample, plan.n_cells, np.random.default_rng(plan.cell_seed))
    job.work.save(
        "survey",
        0,
        scale=scale,
        audited=audited,
        mean=cells.mean,
        cell_scale=cells.scale,
        centroids=cells.centroids,
    )


def assign(job: Job, part: int) -> None:
    """The home cell of every row, and the true neighbours of the audited rows among them."""
    ground = Ground.of(job)
    start, points = _points(job, ground, part)
    plan = Plan.draw(job.input.n, job.search_seed)
    codes = true_codes(ground.audited, plan.audited, points, start, _width(job))
    job.work.save("assign", part, home=ground.cells.nearest(points.rows, 1)[:, 0], codes=codes)


def layout(job: Job, _: int) -> None:
    """Places in the file of rows by cell, and the number of cells searched for a row."""
    ground = Ground.of(job)
    parts = [job.work.load("assign", part) for part in range(job.n_parts)]
    counts = np.stack([np.bincount(p["home"], minlength=ground.cells.n) for p in parts])  # [p, c]
    start = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])  # [c + 1]
    first = start[:-1] + np.cumsum(counts, axis=0) - counts  # [p, c]
    codes = parts[0]["codes"]
    for other in parts[1:]:
        codes = merge_codes(codes, other["codes"])
    overlap = 1
    if ground.cells.n > 1:
        plan = Plan.draw(job.input.n, job.search_seed)
        home = np.concatenate([p["home"] for p in parts])[codes & 0xFFFFFFFF]  # [q, k]
        overlap = Truth(plan.audited, codes).choose_overlap(ground.cells, ground.audited, home)
    job.rows.create(job.input.n)
    job.row_ids.create(job.input.n)
    together = job.budget.search_bytes // (4 * job.input.d * overlap)  # if no two share a cell
    together = min(max(together, CELL_SIZE), ROWS_TOGETHER)
    job.work.save(
        "layout", 0, start=start, first=first, codes=codes, overlap=overlap, together=together
    )


def place(job: Job, part: int) -> None:
    """Write the rows of a part where their cells are. A second time changes nothing."""
    ground = Ground.of(job)
    first = job.work.load("layout", 0)["first"][part]  # [c]
    home = job.work.load("assign", part)["home"]
    start, points = _points(job, ground, part)
    order = np.argsort(home, kind="stable")
    rows, ids = points.rows[order], order + start
    count = np.bincount(home, minlength=ground.cells.n)
    ends = np.cumsum(count)
    for cell in np.flatnonzero(count):
        here = slice(ends[cell] - count[cell], ends[cell])
        job.rows.write(int(first[cell]), rows[here])
        job.row_ids.write(int(first[cell]), ids[here])
    job.rows.sync()
    job.row_ids.sync()
    job.work.save("place", part)


def search(job: Job, group: int) -> None:
    """Neighbours of all rows at home in some cells."""
    ground, plan = Ground.of(job), job.work.load("layout", 0)
    start, homes = plan["start"], _groups(plan)[group]
    asked = Search(_width(job), int(plan["overlap"]), job.settings.metric, ground.scale)
    found = search_cells(ground.cells, _Sorted(job, start), homes, asked)
    job.work.save("search", group, rows=found.rows, index=found.index, key=found.key)


def graph(job: Job, part: int) -> None:
    """Neighbours of the rows of a part, in the order of the input."""
    start, stop = job.bounds(part)
    ground = Ground.of(job)
    k = _width(job)
    index = np.empty((stop - start, k), np.int32)
    key = np.empty((stop - start, k), np.float32)
    for group in range(n_groups(job)):
        found = job.work.load("search", group)
        low, high = np.searchsorted(found["rows"], [start, stop])
        at = found["rows"][low:high] - start
        index[at], key[at] = found["index"][low:high], found["key"][low:high]
    plan = Plan.draw(job.input.n, job.search_seed)
    audited = plan.audited[(plan.audited >= start) & (plan.audited < stop)] - start
    points = Points(np.empty((0, job.input.d), np.float32), job.settings.metric, ground.scale)
    audited_key, audited_index = key[audited], index[audited]
    index, similarity = in_order_of_similarity(index, key, points)
    near = Neighbors(index, similarity, job.settings.metric, "approximate", "")
    apart = load_kin(job)
    if apart.codes:
        near = apart.drop(near, job.k, start)
    job.work.save(
        "graph",
        part,
        index=near.index,
        similarity=near.similarity,
        audited_key=audited_key,
        audited_index=audited_index,
    )


def load_graph(job: Job) -> Neighbors:
    """The neighbours of all rows, with the recall that was measured."""
    ground, plan = Ground.of(job), job.work.load("layout", 0)
    k = min(job.k, _width(job))
    index = np.empty((job.input.n, k), np.int32)
    similarity = np.empty((job.input.n, k), np.float32)
    keys, indices = [], []
    for part in range(job.n_parts):
        start, stop = job.bounds(part)
        found = job.work.load("graph", part)
        index[start:stop], similarity[start:stop] = found["index"], found["similarity"]
        keys.append(found["audited_key"])
        indices.append(found["audited_index"])
    recall = 1.0
    if ground.cells.n > 1:
        truth = Truth(Plan.draw(job.input.n, job.search_seed).audited, plan["codes"])
        recall = truth.recall(np.concatenate(keys), np.concatenate(indices))
    reason = describe(int(plan["overlap"]), ground.cells.n, recall, "asked for")
    metric = job.settings.metric
    return Neighbors(index, similarity, metric, "approximate", reason, recall)


def load_kin(job: Job) -> Kin:
    """Who may not vote for whom."""
    return Kin(tuple(job.work.load("kin", 0, "codes")["codes"]))


def n_groups(job: Job) -> int:
    """Groups of cells; known after ``layout``."""
    return len(_groups(job.work.load("layout", 0, "start", "together")))


def _groups(layout: Mapping[str, NDArray[Any]]) -> list[tuple[int, ...]]:
    """Cells that are searched together."""
    return cell_groups(np.diff(layout["start"]), int(layout["together"]))


def _once(_: Job) -> int:
    return 1


def _parts(job: Job) -> int:
    return job.n_parts


@dataclass(frozen=True)
class Stage:
    """A function of the job and a number, and how many numbers there are."""

    run: Callable[[Job, int], None]
    count: Callable[[Job], int]


STAGES: Mapping[str, Stage] = {
    "read": Stage(read, _parts),
    "kin": Stage(kin, _once),
    "survey": Stage(survey, _once),
    "assign": Stage(assign, _parts),
    "layout": Stage(layout, _once),
    "place": Stage(place, _parts),
    "search": Stage(search, n_groups),
    "graph": Stage(graph, _parts),
}


@dataclass(frozen=True)
class Ground:
    """What ``survey`` found."""

    cells: Cells
    scale: float
    audited: NDArray[np.float32]  # [q, d]

    @classmethod
    def of(cls, job: Job) -> Ground:
        """Read it."""
        found = job.work.load("survey", 0)
        cells = Cells(found["mean"], np.float32(found["cell_scale"]), found["centroids"])
        return cls(cells, float(found["scale"]), found["audited"])


def _width(job: Job) -> int:
    """Neighbours searched for a row."""
    return int(job.work.load("kin", 0, "k")["k"])


def _points(job: Job, ground: Ground, part: int) -> tuple[int, Points]:
    start, stop = job.bounds(part)
    metric = job.settings.metric
    rows = prepared(job.input.rows(start, stop), metric, ground.scale, owned=True)
    return start, Points(rows, metric, ground.scale)


@dataclass(frozen=True)
class _Sorted:
    """Rows of a cell from the file of rows by cell."""

    job: Job
    start: NDArray[np.int64]  # [c + 1]

    def load(self, cell: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        first, stop = int(self.start[cell]), int(self.start[cell + 1])
        return self.job.rows.read(first, stop), self.job.row_ids.read(first, stop)
