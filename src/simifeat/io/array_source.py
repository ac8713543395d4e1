"""Sources that are arrays: features in a .npy, or features and labels in one .npz."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.dataset import check_lengths
from simifeat.errors import InputError, OutputError
from simifeat.io.arrays import Archive, flat, load_npy
from simifeat.io.atomic import replacing
from simifeat.io.names import CLEAN_LABEL, guess_feature, guess_id, guess_label, require_name
from simifeat.io.other_files import features_of_file, is_file_name, labels_of_file
from simifeat.io.reading import reading
from simifeat.io.source import Edit, Features, Progress, Request


@dataclass(frozen=True)
class ArraySource:
    """Labelled examples in arrays; features are read when they are asked for."""

    path: Path
    labels: NDArray[Any]
    """Labels as given, [n]."""
    ids: NDArray[Any] | None
    """Ids [n], if there are any."""
    clean_labels: NDArray[Any] | None
    """The truth [n] in a dataset that was corrupted on purpose; for evaluation only."""
    notes: tuple[str, ...]
    """What was chosen without being asked, one line each."""
    read: Callable[[], Features]

    def load_features(self, progress: Progress | None = None) -> Features:
        """Read the features [n, d]."""
        return self.read()

    def write_edited(self, target: Path, edit: Edit) -> tuple[Path, ...]:
        """Write features and labels, and what else there is, as one .npz."""
        if target.suffix.lower() != ".npz":
            raise OutputError(f"cannot write {target}: a copy of {self.path} ends in .npz")
        if edit.keep_clean and self.clean_labels is not None:
            raise InputError(
                f"{self.path} has an array {CLEAN_LABEL!r}: its labels were corrupted on purpose "
                "before; start from the dataset as it was"
            )
        features = self.load_features().matrix
        assert isinstance(features, np.ndarray)  # one epoch
        check_lengths(len(features), len(self.labels))
        labels = _storable(self.labels)
        kept: dict[str, NDArray[Any]] = {"label": labels[edit.label_from][edit.keep]}
        if self.ids is not None:
            kept["id"] = _storable(self.ids)[edit.keep]
        clean = labels if edit.keep_clean else self.clean_labels
        if clean is not None:
            kept[CLEAN_LABEL] = _storable(clean)[edit.keep]
        if not edit.keep.all():
            features = features[edit.keep]
        with replacing(target) as (file,):
            np.savez(file, allow_pickle=False, features=features, **kept)
        return (target,)


def open_npy(request: Request) -> ArraySource:
    """Features in a .npy; the labels are in a file of their own."""
    path = request.path
    matrix = load_npy(path)
    for given, option in ((request.features, "--features"), (request.id, "--id")):
        if given is not None:
            raise InputError(f"{path} is one array of features; leave out {option} {given}")
    _check_no_extractor(request)
    if request.labels is None:
        raise InputError(f"{path} holds features alone; give their labels with --labels FILE")
    labels = labels_of_file(request.labels)
    return ArraySource(path, labels, None, None, (), lambda: Features(matrix))


def open_npz(request: Request) -> ArraySource:
    """Features, labels and maybe ids as the arrays of one .npz."""
    _check_no_extractor(request)
    path, archive = request.path, Archive(request.path)
    names, notes = list(archive.shapes), []

    def column(name: str) -> NDArray[Any]:
        with reading(path, ".npz"):
            return flat(archive[name])

    label: str | None = None
    if request.labels is None:
        label = guess_label(archive.names(1), path, "array")
        notes.append(f"labels: array {label!r}")
    elif not is_file_name(request.labels, names):
        label = require_name(request.labels, names, path, "array")
    id_name = request.id and require_name(request.id, names, path, "array")
    if request.id is None:
        id_name = guess_id([name for name in archive.names(1) if name != label])
        if id_name is not None:
            notes.append(f"ids: array {id_name!r}")
    feature = None
    if request.features is None:
        feature = guess_feature(archive.names(2), path)
        notes.append(f"features: array {feature!r}")
    elif not is_file_name(request.features, names):
        feature = require_name(request.features, names, path, "array")
    labels = labels_of_file(str(request.labels)) if label is None else column(label)
    clean = column(CLEAN_LABEL) if CLEAN_LABEL in names and label != CLEAN_LABEL else None

    def read() -> Features:
        if feature is None:
            return features_of_file(str(request.features), len(labels))
        return Features(archive[feature])

    return ArraySource(
        path, labels, column(id_name) if id_name else None, clean, tuple(notes), read
    )


def _check_no_extractor(request: Request) -> None:
    if request.extractor is not None:
        raise InputError(
            f"{request.path} holds features already; leave out --extractor {request.extractor}"
        )


def _storable(values: NDArray[Any]) -> NDArray[Any]:
    """Text of Python strings as text of fixed width: .npz files hold no objects here."""
    return np.array(values.tolist()) if values.dtype == object else values
