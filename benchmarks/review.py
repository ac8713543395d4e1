"""A review of 50,000 flags among 1,000,000 rows: how long pages take, and how much memory.

The server is the command as people run it, in a process of its own; requests are those of the
page, over HTTP on this machine. "server" is the time until the answer is there, without a browser.
"""

from __future__ import annotations

import http.client
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from _common import parser, write_result
from simifeat.nearest_file import save_nearest
from simifeat.neighbors import Neighbors
from simifeat.transition import Transition
from simifeat.verdicts import Verdicts

N_CLASSES, N_NEIGHBORS = 100, 10
PAGE, REPEATS = 48, 30
STATIC = re.compile(r'(?:"/static/|from "\./)([^"]+)"')


def make(folder: Path, n: int, n_flagged: int, seed: int) -> Path:
    """A table of texts and verdicts on it, without a search: ten random rows are neighbours."""
    rng = np.random.default_rng(seed)
    names = np.array([f"class number {i}" for i in range(N_CLASSES)], dtype=object)
    codes = rng.integers(0, N_CLASSES, n)
    words = np.array(["leaf", "stone", "river", "night", "glass", "paper", "music", "bread"])
    texts = [" ".join(words[row]) for row in rng.integers(0, len(words), (n, 12))]
    table = folder / "texts.parquet"
    pq.write_table(
        pa.table({"id": np.arange(n), "text": texts, "label": names[codes].tolist()}), table
    )
    flags = np.zeros(n, bool)
    flags[rng.choice(n, n_flagged, replace=False)] = True
    p = np.where(flags, rng.beta(4, 2, n), rng.beta(1, 30, n)).astype(np.float32)
    other = np.where(flags, (codes + rng.integers(1, N_CLASSES, n)) % N_CLASSES, codes)
    index = rng.integers(0, n, (n, N_NEIGHBORS)).astype(np.int32)
    similarity = np.sort(rng.random((n, N_NEIGHBORS), np.float32))[:, ::-1]
    source = {"path": str(table), "labels": "label", "features": "text", "id": "id"}
    verdicts = Verdicts(
        ids=np.arange(n),
        labels=names[codes],
        is_corrupted=flags,
        score=1 - p,
        p_corrupted=p,
        flag_rate=flags.astype(np.float32),
        suggested=names[other],
        classes=np.array(sorted(names), dtype=object),
        transition=Transition(
            matrix=np.eye(N_CLASSES),
            prior=np.full(N_CLASSES, 1 / N_CLASSES),
            label_frequency=np.full(N_CLASSES, 1 / N_CLASSES),
            method="made up",
            loss=0.0,
            n_triples=0,
            classes=np.array(sorted(names), dtype=object),
        ),
        metadata={"settings": {"method": "made up"}, "source": source, "fingerprint": "made up"},
        neighbors=Neighbors(index, similarity, "cosine", "exact", "made up"),
    )
    verdicts.save(folder / "out.parquet")
    save_nearest(folder / "out.parquet", verdicts)
    return folder / "out.parquet"


class Page:
    """Asks what the page asks, over one connection."""

    def __init__(self, address: str) -> None:
        found = re.search(r":(\d+)/\?token=(\S+)", address)
        assert found
        port, token = found.groups()
        self.headers = {
            "Cookie": f"simifeat-{port}={token}",
            "Origin": f"http://127.0.0.1:{port}",
            "Content-Type": "application/json",
        }
        self.connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
        self.number = 0

    def get(self, path: str) -> bytes:
        """The body of an answer."""
        return self._ask("GET", path, None)

    def json(self, path: str) -> dict:
        """An answer as data."""
        return json.loads(self.get(path))

    def decide(self, row: int) -> None:
        """Keep ``row``."""
        self.number += 1
        asked = {"answers": [[row, "keep", -1, "decide"]], "reviewer": "Ana"}
        self._ask("POST", "/api/decide", json.dumps({**asked, "request": f"r{self.number}"}))

    def _ask(self, method: str, path: str, body: str | None) -> bytes:
        self.connection.request(method, path, body, self.headers)
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            sys.exit(f"{path}: {answer.status} {content[:200]!r}")
        return content

    def first(self, what: str) -> None:
        """Everything the page fetches before there is something to look at."""
        todo, done = ["index.html"], set()
        while todo:
            name = todo.pop()
            text = self.get("/" if name == "index.html" else f"/static/{name}").decode("latin-1")
            done.add(name)
            todo += [n for n in STATIC.findall(text) if n not in done and n not in todo]
        self.json("/api/about")
        self.json("/api/progress?reviewer=Ana")
        if what == "grid":
            self.json(f"/api/rows?offset=0&limit={PAGE}")
        else:
            self.next(None)

    def next(self, after: int | None) -> int:
        """Be led to the next open example and have all of it."""
        place = "" if after is None else f"&after={after}"
        lead = self.json(f"/api/lead?how=open&reviewer=Ana{place}")
        self.json(f"/api/rows/{lead['row']}?reviewer=Ana")
        return lead["row"]


def timed(action) -> dict[str, float]:
    """Milliseconds of ``action``, called ``REPEATS`` times."""
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        action()
        taken.append(1000 * (time.perf_counter() - start))
    return {
        "median_ms": round(statistics.median(taken), 2),
        "p95_ms": round(sorted(taken)[int(0.95 * REPEATS)], 2),
        "worst_ms": round(max(taken), 2),
    }


def measure(page: Page) -> dict[str, dict[str, float]]:
    """What a review waits for."""
    at = page.next(None)

    def on() -> None:
        nonlocal at
        at = page.next(at)

    def decide() -> None:
        nonlocal at
        page.decide(at)
        at = page.next(at)

    return {
        "first page, one by one": timed(lambda: page.first("one")),
        "first page, grid": timed(lambda: page.first("grid")),
        "next example": timed(on),
        "decide and next example": timed(decide),
        "next uncertain example": timed(lambda: page.json("/api/lead?how=uncertain&reviewer=Ana")),
        "progress": timed(lambda: page.json("/api/progress?reviewer=Ana")),
        "page of the grid, search in texts": timed(
            lambda: page.json(f"/api/rows?limit={PAGE}&words=river+night+glass")
        ),
        "page of the grid, all rows": timed(
            lambda: page.json(f"/api/rows?limit={PAGE}&scope=all&p_from=0.2&offset=9600")
        ),
    }


def memory(process: int, name: str) -> int:
    """``VmHWM`` (peak) or ``VmRSS`` (now) of a process in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    assert found
    return int(found[1]) // 1024


def main() -> None:
    """Make the data, run the server, ask it."""
    arguments = parser(__doc__ or "", "review.json")
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--flags", type=int, default=50_000)
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="simifeat-bench-") as folder:
        path = make(Path(folder), asked.rows, asked.flags, asked.seed)
        command = [sys.executable, "-m", "simifeat", "review", str(path), "--no-browser"]
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = server.stdout.readline()
            seconds = time.perf_counter() - start
            try:
                found = measure(Page(address))
                peak, now = memory(server.pid, "VmHWM"), memory(server.pid, "VmRSS")
            finally:
                server.terminate()
    result = {
        "rows": asked.rows,
        "flags": asked.flags,
        "classes": N_CLASSES,
        "repeats": REPEATS,
        "start_seconds": round(seconds, 2),
        "peak_mib": peak,
        "resident_mib": now,
        "server": found,
    }
    write_result(asked.output, asked.seed, result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
