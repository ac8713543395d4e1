"""The layers of ``simifeat.features.layers`` computed by torch, so that a network can be trained.

A network is described once. On ``Layers`` the description becomes an ONNX file, here it is a
forward pass whose weights carry gradients; what was trained is then written as an ONNX file by the
former.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import require
from simifeat.features.layers import Weights

Describe = Callable[[Any], None]
_STATISTICS = ("running_mean", "running_var")
_MOMENTUM = 0.1  # of the running statistics


class TorchLayers:
    """One forward pass of uint8 or float pixels [n, 3, h, w]; ``output`` are the features [n, d].

    ``weights`` are tensors. With ``trains`` batch norms use the batch at hand, and move their
    running statistics; otherwise they use those as they are.
    """

    def __init__(self, weights: dict[str, Any], pixels: Any, *, trains: bool) -> None:
        self._torch: Any = require("torch", extra="torch")
        self._f = self._torch.nn.functional
        self._weights = weights
        self._pixels = pixels
        self._trains = trains
        self.output: Any = None

    def weight(self, name: str) -> Any:
        """A tensor."""
        return self._weights[name]

    def has(self, name: str) -> bool:
        """Whether there is such a tensor."""
        return name in self._weights

    def pixels(self, mean: Sequence[float], std: Sequence[float]) -> Any:
        """The pictures as (pixel - mean) / std."""
        device = self._pixels.device
        shift, scale = (
            self._torch.tensor(values, dtype=self._torch.float32, device=device).view(1, 3, 1, 1)
            for values in (mean, std)
        )
        return (self._pixels - shift) / scale

    def conv(
        self,
        value: Any,
        name: str,
        *,
        norm: str | None = None,
        eps: float = 1e-5,
        stride: int = 1,
        pads: tuple[int, int] = (0, 0),
        groups: int = 1,
    ) -> Any:
        """Convolution, and the batch norm ``norm`` that follows it."""
        before, after = pads
        padding = before
        if before != after:
            value, padding = self._f.pad(value, (before, after, before, after)), 0
        value = self._f.conv2d(
            value,
            self.weight(f"{name}.weight"),
            self._weights.get(f"{name}.bias"),
            stride=stride,
            padding=padding,
            groups=groups,
        )
        if norm is None:
            return value
        return self._f.batch_norm(
            value,
            self.weight(f"{norm}.running_mean"),
            self.weight(f"{norm}.running_var"),
            self.weight(f"{norm}.weight"),
            self.weight(f"{norm}.bias"),
            training=self._trains,
            momentum=_MOMENTUM,
            eps=eps,
        )

    def clip(self, value: Any, low: float, high: float) -> Any:
        """Values cut off below and above."""
        return value.clamp(low, high)

    def max_pool(self, value: Any) -> Any:
        """The largest of 3 x 3, every second."""
        return self._f.max_pool2d(value, 3, 2, 1)

    def node(self, kind: str, *inputs: Any, **attributes: Any) -> Any:
        """The few operators that networks to be trained name directly."""
        if kind == "Relu":
            return self._f.relu(inputs[0])
        if kind == "Add":
            return inputs[0] + inputs[1]
        if kind == "ReduceMean" and not attributes["keepdims"]:
            return inputs[0].mean(dim=attributes["axes"])
        raise NotImplementedError(kind)

    def features(self, value: Any, width: int) -> None:
        """Keep the features [n, width]."""
        self.output = value


def trainable(weights: Weights, device: Any) -> dict[str, Any]:
    """Weights as tensors that carry gradients, but for the statistics of batch norms."""
    torch: Any = require("torch", extra="torch")
    tensors = {}
    for name, value in weights.items():
        tensor = torch.tensor(np.asarray(value, np.float32), device=device)
        tensors[name] = tensor.requires_grad_(not name.endswith(_STATISTICS))
    return tensors


def parameters(tensors: dict[str, Any]) -> list[Any]:
    """Those that an optimiser changes, in a fixed order."""
    return [tensor for _name, tensor in sorted(tensors.items()) if tensor.requires_grad]


def as_arrays(tensors: dict[str, Any]) -> dict[str, NDArray[np.float32]]:
    """Tensors as arrays of their own."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}


def planes(pictures: NDArray[np.uint8], rows: NDArray[np.int64], device: Any) -> Any:
    """Pictures [n, h, w, 3] of ``rows`` as floats [b, 3, h, w] in 0..255."""
    torch: Any = require("torch", extra="torch")
    batch = np.ascontiguousarray(pictures[rows].transpose(0, 3, 1, 2))
    return torch.from_numpy(batch).to(device).float()


def best_device() -> Any:
    """The GPU if there is one."""
    torch: Any = require("torch", extra="torch")
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
