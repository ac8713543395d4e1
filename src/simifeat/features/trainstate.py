"""The state of a training run between two epochs as plain arrays: nothing in it is unpickled."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from simifeat.errors import require
from simifeat.features.torchlayers import as_arrays
from simifeat.io.atomic import replacing

_MOMENTS = ("step", "exp_avg", "exp_avg_sq", "momentum_buffer")  # of AdamW, and of SGD


def write_state(
    place: Path | None, settings: str, tensors: dict[str, Any], optimiser: Any, n_done: int
) -> None:
    """Keep weights and the moments of the optimiser after ``n_done`` epochs; None keeps nothing."""
    if place is None:
        return
    arrays: dict[str, Any] = {f"weights/{k}": value for k, value in as_arrays(tensors).items()}
    for name, tensor in tensors.items():
        state = optimiser.state.get(tensor, {})
        arrays |= {f"{key}/{name}": value.cpu().numpy() for key, value in state.items()}
    with replacing(place) as (file,):
        np.savez(file, settings=np.array(settings), n_done=np.array(n_done), **arrays)


def read_state(place: Path | None, settings: str, tensors: dict[str, Any], optimiser: Any) -> int:
    """Put back what ``write_state`` kept for the same settings; how many epochs are done."""
    torch: Any = require("torch", extra="torch")
    if place is None or not place.exists():
        return 0
    try:
        with place.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            if str(kept["settings"]) != settings:
                return 0
            arrays = {name: kept[name] for name in kept.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # damaged: start anew
        return 0
    with torch.no_grad():
        for name, tensor in tensors.items():
            tensor.copy_(torch.from_numpy(arrays[f"weights/{name}"]))
            keys = [key for key in _MOMENTS if f"{key}/{name}" in arrays]
            if keys:
                optimiser.state[tensor] = {
                    key: torch.as_tensor(arrays[f"{key}/{name}"]).to(
                        "cpu" if key == "step" else tensor.device
                    )
                    for key in keys
                }
    return int(arrays["n_done"])
