"""ONNX Runtime sessions: one thread a run, so that runs beside each other use every core.

A run on one thread sums in one order whatever the machine, so the number of threads does not
change a bit of the features, and nothing waits for the slowest part of an operator.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from simifeat.errors import InputError, require

_GPU = ("CUDAExecutionProvider", "ROCMExecutionProvider", "DmlExecutionProvider")


def open_session(model: bytes | Path, name: str) -> Any:
    """An ``onnxruntime.InferenceSession``, on a GPU where the installed runtime has one."""
    runtime: Any = require("onnxruntime", extra="image")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors alone; warnings are about the graph, not the data
    available = runtime.get_available_providers()
    providers = [p for p in _GPU if p in available] + ["CPUExecutionProvider"]
    try:
        return runtime.InferenceSession(
            model if isinstance(model, bytes) else os.fspath(model), options, providers=providers
        )
    except Exception as error:  # the runtime has a dozen kinds of its own
        raise InputError(
            f"ONNX Runtime cannot load the model {name}: {str(error).splitlines()[0]}; give an "
            "ONNX file that the installed version reads"
        ) from error


def is_on_gpu(session: Any) -> bool:
    """Whether runs happen on a GPU."""
    return session.get_providers()[0] in _GPU
