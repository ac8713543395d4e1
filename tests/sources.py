"""The same labelled pictures in every kind of source that keeps pictures; small."""

import gzip
import io
import json
import struct
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pictures import encoded, picture

NAMES = ("cat", "dog", "owl")
FEATURES = {
    "image": {"_type": "Image"},
    "label": {"names": list(NAMES), "_type": "ClassLabel"},
}
PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def files(n):
    """``n`` picture files; the class of number i is i % 3."""
    return [encoded(picture(i)) for i in range(n)]


def arrow_table(contents, codes):
    cells = [{"bytes": content, "path": f"{i}.png"} for i, content in enumerate(contents)]
    schema = pa.schema(
        [("image", PICTURE), ("label", pa.int64())],
        metadata={"huggingface": json.dumps({"info": {"features": FEATURES}})},
    )
    return pa.table({"image": pa.array(cells, PICTURE), "label": list(codes)}, schema=schema)


def saved_dataset(place, contents, codes, n_shards=2, features=FEATURES):
    """What ``Dataset.save_to_disk`` leaves."""
    place.mkdir(parents=True)
    table = arrow_table(contents, codes)
    names = [f"data-{i:05d}-of-{n_shards:05d}.arrow" for i in range(n_shards)]
    step = -(-len(contents) // n_shards)
    for i, name in enumerate(names):
        with pa.ipc.new_stream(place / name, table.schema) as writer:
            writer.write_table(table.slice(i * step, step), max_chunksize=3)
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "0"}
    (place / "state.json").write_text(json.dumps(state))
    (place / "dataset_info.json").write_text(json.dumps({"features": features}))
    return place


def hub_folder(place, contents, codes, n_shards=2, split="train"):
    """Parquet files as they are on the hub."""
    (place / "data").mkdir(parents=True, exist_ok=True)
    table = arrow_table(contents, codes)
    step = -(-len(contents) // n_shards)
    for i in range(n_shards):
        name = f"{split}-{i:05d}-of-{n_shards:05d}.parquet"
        pq.write_table(table.slice(i * step, step), place / "data" / name)
    return place


def tar(place, members):
    """A shard of (name, content) members, in their order."""
    mode = "w:gz" if place.name.endswith("gz") else "w"
    with tarfile.open(place, mode) as file:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return place


def samples(contents, codes, ending="cls"):
    """Members of a shard: a picture and its label."""
    for i, (content, code) in enumerate(zip(contents, codes, strict=True)):
        label = NAMES[code]
        text = json.dumps({"label": label, "n": i}) if ending == "json" else label
        yield f"train/{i:04d}.png", content
        yield f"train/{i:04d}.{ending}", text.encode()


def cifar10(place, n_a_file=5, n_files=2, seed=0):
    """Files as in the binary version of CIFAR-10; the records, [n, 3073]."""
    place.mkdir(parents=True)
    records = np.random.default_rng(seed).integers(0, 256, (n_a_file * n_files, 3073), np.uint8)
    records[:, 0] = np.arange(len(records)) % 3
    for i in range(n_files):
        part = records[i * n_a_file : (i + 1) * n_a_file]
        part.tofile(place / f"data_batch_{i + 1}.bin")
    (place / "batches.meta.txt").write_text("\n".join(NAMES) + "\n\n")
    return records


def idx(path, values):
    """An idx file of ``values``, packed if the name ends in .gz."""
    head = bytes((0, 0, 8, values.ndim)) + struct.pack(f">{values.ndim}I", *values.shape)
    content = head + values.astype(np.uint8).tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path
