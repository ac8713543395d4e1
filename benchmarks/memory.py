"""Peak memory while features of 50,000 pictures are extracted, from every kind of source.

    python benchmarks/memory.py

Makes JPEG files of 480 x 360 pixels (2,000 different ones, each as often as needed), keeps them as
a folder, a Parquet file of bytes, a saved dataset and tar shards, and extracts each in a process of
its own with an empty cache. The peak is the kernel's (VmHWM), so pages of files that were mapped
count as well; features are mapped from the cache and hardly resident while they are written. The
claim is that the whole peak stays under 1.5 GB, and that it does not grow with the pictures.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

import _common

N_DIFFERENT, N_CLASSES, SIDES = 2_000, 10, (480, 360)
A_SHARD = 5_000
LIMIT = 1.5e9
PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def make_pictures(seed: int) -> list[bytes]:
    """JPEG files of smooth colours with a little noise, about 25 kB each."""
    rng = np.random.default_rng(seed)
    files = []
    for _ in range(N_DIFFERENT):
        small = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
        pixels = np.asarray(small.resize(SIDES, Image.Resampling.BICUBIC)).astype(np.int16)
        pixels += rng.integers(-9, 10, pixels.shape, dtype=np.int16)
        file = io.BytesIO()
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(file, "JPEG", quality=80)
        files.append(file.getvalue())
    return files


def as_folder(place: Path, files: list[bytes], n: int) -> Path:
    """Hard links, so that the disk holds each picture once."""
    for c in range(N_CLASSES):
        (place / f"c{c}").mkdir(parents=True)
    for i, content in enumerate(files[:n]):
        (place / f"c{i % N_CLASSES}" / f"{i:06d}.jpg").write_bytes(content)
    for i in range(len(files), n):
        first = i % len(files)
        os.link(
            place / f"c{first % N_CLASSES}" / f"{first:06d}.jpg",
            place / f"c{i % N_CLASSES}" / f"{i:06d}.jpg",
        )
    return place


def batches(files: list[bytes], n: int, size: int = 500) -> Iterator[pa.RecordBatch]:
    """Pictures and labels, some rows at a time."""
    schema = pa.schema([("image", PICTURE), ("label", pa.int64())])
    for start in range(0, n, size):
        part = [files[i % len(files)] for i in range(start, min(start + size, n))]
        cells = [{"bytes": each, "path": None} for each in part]
        codes = [i % N_CLASSES for i in range(start, start + len(part))]
        yield pa.record_batch([pa.array(cells, PICTURE), pa.array(codes)], schema=schema)


def as_parquet(place: Path, files: list[bytes], n: int) -> Path:
    """One file of bytes, its row groups of 5,000 rows."""
    path = place.with_suffix(".parquet")
    parts = batches(files, n)
    first = next(parts)
    with pq.ParquetWriter(path, first.schema) as writer:
        waiting = [first]
        for part in parts:
            if sum(map(len, waiting)) >= A_SHARD:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting = []
            waiting.append(part)
        writer.write_table(pa.Table.from_batches(waiting))
    return path


def as_dataset(place: Path, files: list[bytes], n: int) -> Path:
    """What Hugging Face's save_to_disk leaves."""
    place.mkdir()
    parts = batches(files, n)
    first = next(parts)
    with pa.ipc.new_stream(place / "data.arrow", first.schema) as writer:
        writer.write_batch(first)
        for part in parts:
            writer.write_batch(part)
    (place / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}')
    (place / "dataset_info.json").write_text("{}")
    return place


def as_tars(place: Path, files: list[bytes], n: int) -> Path:
    """WebDataset shards of 5,000 samples."""
    place.mkdir()
    for start in range(0, n, A_SHARD):
        with tarfile.open(place / f"{start // A_SHARD:04d}.tar", "w") as tar:
            for i in range(start, min(start + A_SHARD, n)):
                label = str(i % N_CLASSES).encode()
                for ending, part in (("jpg", files[i % len(files)]), ("cls", label)):
                    member = tarfile.TarInfo(f"{i:06d}.{ending}")
                    member.size = len(part)
                    tar.addfile(member, io.BytesIO(part))
    return place


MAKERS: dict[str, Callable[[Path, list[bytes], int], Path]] = {
    "folder": as_folder,
    "parquet": as_parquet,
    "dataset": as_dataset,
    "tars": as_tars,
}


def extract(path: str, extractor: str) -> None:
    """In a process of its own: extract, and say what it took."""
    from simifeat.io import open_source

    start = time.perf_counter()
    found = open_source(path, extractor=extractor).load_features()
    seconds = time.perf_counter() - start
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
    result = {"shape": list(found.matrix.shape), "peak_rss": peak, "seconds": round(seconds, 1)}
    print(json.dumps(result))


def measured(path: Path, extractor: str, cache: Path) -> dict[str, object]:
    """What ``extract`` says of ``path``."""
    command = [sys.executable, __file__, "--extract", str(path), "--extractor", extractor]
    environment = {**os.environ, "SIMIFEAT_CACHE": str(cache)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main() -> None:
    """Make the sources, measure, write the result down."""
    arguments: argparse.ArgumentParser = _common.parser(
        (__doc__ or "").splitlines()[0], "memory.json"
    )
    arguments.add_argument("--n", type=int, default=50_000)
    arguments.add_argument("--sources", default=",".join(MAKERS))
    arguments.add_argument("--extractor", default="efficientnet-lite0?size=160")
    arguments.add_argument("--extract", help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.extract:
        return extract(chosen.extract, chosen.extractor)
    files = make_pictures(chosen.seed)
    found = []
    for name in chosen.sources.split(","):
        for n in (chosen.n // 10, chosen.n):
            with tempfile.TemporaryDirectory(prefix="simifeat-memory-") as folder:
                path = MAKERS[name](Path(folder, "data"), files, n)
                line = measured(path, chosen.extractor, Path(folder, "cache"))
            found.append({"source": name, "n": n, **line})
            print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    result = {
        "extractor": chosen.extractor,
        "bytes_a_picture": round(float(np.mean([len(each) for each in files]))),
        "limit": LIMIT,
        "kept": all(line["peak_rss"] < LIMIT for line in found),
        "rows": found,
    }
    _common.write_result(chosen.output, chosen.seed, result)
    return None


if __name__ == "__main__":
    main()
