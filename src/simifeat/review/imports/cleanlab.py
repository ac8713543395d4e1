"""Issue frames of cleanlab as verdicts, so that they can be reviewed and applied like ours.

Read are the frames of ``CleanLearning`` (``label_quality``) and of ``Datalab`` (``label_score``),
saved with ``to_csv``, ``to_parquet`` or ``to_json(orient="records", lines=True)``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from simifeat.dataset import Labels
from simifeat.errors import InputError
from simifeat.io import open_source
from simifeat.io.source import Source
from simifeat.io.table_file import is_table, open_table_file
from simifeat.transition import Transition
from simifeat.verdict_files import load_verdicts
from simifeat.verdicts import Verdicts

_FLAG = "is_label_issue"
_QUALITIES = ("label_quality", "label_score")
_GIVEN, _PREDICTED = "given_label", "predicted_label"


def load_judged(path: Path, source: str | None = None) -> Verdicts:
    """The verdicts at ``path``: our own, or those in a frame of cleanlab.

    A frame does not say what it is about; ``source`` does.
    """
    if path.is_file() and is_table(path) and _FLAG in open_table_file(path).schema.names:
        return read_frame(path, source)
    return load_verdicts(path)


def read_frame(path: Path, source: str | None = None) -> Verdicts:
    """A frame of cleanlab, one row an example in the order of the data, as verdicts."""
    file = open_table_file(path)
    names = file.schema.names
    quality = next((name for name in _QUALITIES if name in names), " or ".join(_QUALITIES))
    missing = [name for name in (_FLAG, quality, _GIVEN, _PREDICTED) if name not in names]
    if missing:
        raise InputError(
            f"{path} lacks the column {missing[0]}; save what CleanLearning.get_label_issues() or "
            'Datalab.get_issues("label") returns, with all its columns'
        )
    table = pa.Table.from_batches(list(file.batches([_FLAG, quality])))
    given, predicted = file.values(_GIVEN), file.values(_PREDICTED)  # [n], [n]
    ids, about = np.arange(len(given)), {}
    if source is not None:
        opened = open_source(source)
        given, predicted = _in_words_of(opened, given, predicted)
        ids = ids if opened.ids is None else opened.ids
        names = ("labels", "features", "extractor", "id")
        about = {"source": {"path": source, **dict.fromkeys(names)}}
    score = _numbers(table.column(quality), path, quality)
    flags = _flags(table.column(_FLAG), path)
    labels = Labels.encode(given)
    suggested = np.where(flags, predicted, given)
    return Verdicts(
        ids=ids,
        labels=given,
        is_corrupted=flags,
        score=score,
        p_corrupted=np.clip(1 - score, 0, 1),
        flag_rate=flags.astype(np.float32),
        suggested=suggested,
        classes=labels.classes,
        transition=_counted(labels, predicted),
        metadata={"settings": {"method": "cleanlab"}, **about},
    )


def _in_words_of(
    source: Source, given: NDArray[Any], predicted: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Given and predicted labels [n] as ``source`` spells them.

    ``CleanLearning`` knows classes by their number in sorted order, so numbers may stand for words.
    """
    labels = source.labels
    if len(labels) != len(given):
        raise InputError(
            f"{source.path} has {len(labels)} rows, but the frame {len(given)}; "
            "a frame must have a row for every example"
        )
    if np.array_equal(labels, given):
        return given, predicted
    classes = Labels.encode(labels).classes
    both = np.concatenate([given, predicted])
    if both.dtype.kind in "iu" and both.min() >= 0 and both.max() < len(classes):
        words, suggested = classes[given], classes[predicted]
        if np.array_equal(words, labels):
            return words, suggested
    raise InputError(
        f"the given labels of the frame are not those of {source.path}, row by row; "
        "was one of them sorted or filtered?"
    )


def _counted(labels: Labels, predicted: NDArray[Any]) -> Transition:
    """T and p counted from given and predicted labels: what cleanlab would have believed."""
    number = {value: code for code, value in enumerate(labels.classes.tolist())}
    rows = np.array([number.get(value, -1) for value in predicted.tolist()])
    known = rows >= 0
    k = labels.n_classes
    joint = np.zeros((k, k))
    np.add.at(joint, (rows[known], labels.codes[known]), 1.0)
    total = joint.sum(axis=1, keepdims=True)  # [K, 1]
    matrix = np.divide(joint, total, out=np.eye(k), where=total > 0)
    return Transition(
        matrix=matrix,
        prior=(total / max(total.sum(), 1.0)).ravel(),
        label_frequency=np.bincount(labels.codes, minlength=k) / len(labels.codes),
        method="counted from cleanlab's predicted labels",
        loss=0.0,
        n_triples=0,
        classes=labels.classes,
    )


def _numbers(column: pa.ChunkedArray, path: Path, name: str) -> NDArray[np.float32]:
    try:
        values = column.cast(pa.float32()).to_numpy()
    except pa.ArrowInvalid:  # an empty cell of a CSV
        values = np.array([np.nan])
    if not np.isfinite(values).all():
        raise InputError(f"{path} has an empty or infinite {name}; save the frame again")
    return np.asarray(values, np.float32)


def _flags(column: pa.ChunkedArray, path: Path) -> NDArray[np.bool_]:
    if not pa.types.is_boolean(column.type):
        column = pc.equal(pc.utf8_lower(column.cast(pa.string())), "true")
    if column.null_count:
        raise InputError(f"{path} has an empty {_FLAG}; save the frame again")
    return np.asarray(column.to_numpy(), np.bool_)
