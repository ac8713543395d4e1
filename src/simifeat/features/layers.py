"""Layers that the built-in networks are made of, written as ONNX nodes from a state dict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simifeat.errors import InputError
from simifeat.features.onnxfile import Graph

OPSET = 17  # LayerNormalization came with it; every ONNX Runtime since 1.13 reads it
Weights = Mapping[str, np.ndarray]


class Layers:
    """Appends layers to a graph; each call takes and answers the name of a value.

    ``weights`` are looked up by the layer's name in the state dict, so a model file of the wrong
    architecture is refused by the first tensor it lacks.
    """

    def __init__(self, name: str, weights: Weights) -> None:
        self.graph = Graph(name)
        self._weights = weights
        self._count = 0

    def weight(self, name: str) -> np.ndarray:
        """A tensor as float32."""
        if name not in self._weights:
            raise InputError(
                f"the weights lack the tensor {name!r}: they belong to another architecture; "
                "give the file that this model names, or an ONNX file as onnx:PATH"
            )
        return np.asarray(self._weights[name], np.float32)

    def has(self, name: str) -> bool:
        """Whether there is such a tensor."""
        return name in self._weights

    def constant(self, value: np.ndarray) -> str:
        """A constant under a name of its own."""
        return self.graph.constant(self._name("constant"), value)

    def node(self, kind: str, *inputs: str, **attributes: int | float | str | Sequence[int]) -> str:
        """One operator."""
        return self.graph.node(kind, inputs, self._name(kind), **attributes)

    def pixels(self, mean: Sequence[float], std: Sequence[float]) -> str:
        """The input ``pixels``: uint8 RGB [n, h, w, 3], as (pixel - mean) / std [n, 3, h, w]."""
        pixels = self.graph.input("pixels", "uint8", ["n", "h", "w", 3])
        planes = self.node("Transpose", pixels, perm=[0, 3, 1, 2])  # while it is still bytes
        shape = (1, 3, 1, 1)
        shifted = self.node(
            "Sub",
            self.node("Cast", planes, to=1),
            self.constant(np.asarray(mean, np.float32).reshape(shape)),
        )
        return self.node("Div", shifted, self.constant(np.asarray(std, np.float32).reshape(shape)))

    def conv(
        self,
        value: str,
        name: str,
        *,
        norm: str | None = None,
        eps: float = 1e-5,
        stride: int = 1,
        pads: tuple[int, int] = (0, 0),
        groups: int = 1,
    ) -> str:
        """Convolution, with the batch norm ``norm`` that follows it folded in."""
        kernel = self.weight(f"{name}.weight")  # [out, in / groups, h, w]
        bias = self.weight(f"{name}.bias") if self.has(f"{name}.bias") else None
        if norm is not None:
            deviation = np.sqrt(self.weight(f"{norm}.running_var").astype(np.float64) + eps)
            scale = self.weight(f"{norm}.weight") / deviation  # [out]
            start = -self.weight(f"{norm}.running_mean") if bias is None else bias
            if bias is not None:
                start = bias - self.weight(f"{norm}.running_mean")
            bias = (self.weight(f"{norm}.bias") + start * scale).astype(np.float32)
            kernel = (kernel * scale[:, None, None, None]).astype(np.float32)
        inputs = [value, self.constant(kernel)]
        if bias is not None:
            inputs.append(self.constant(bias))
        before, after = pads
        return self.node(
            "Conv",
            *inputs,
            kernel_shape=list(kernel.shape[2:]),
            strides=[stride, stride],
            pads=[before, before, after, after],
            group=groups,
        )

    def clip(self, value: str, low: float, high: float) -> str:
        """Values cut off below and above."""
        bounds = (self.constant(np.array(bound, np.float32)) for bound in (low, high))
        return self.node("Clip", value, *bounds)

    def max_pool(self, value: str) -> str:
        """The largest of 3 x 3, every second."""
        return self.node("MaxPool", value, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])

    def linear(self, value: str, name: str) -> str:
        """x W' + b over the last axis."""
        return self.affine(
            value,
            self.weight(f"{name}.weight"),
            self.weight(f"{name}.bias") if self.has(f"{name}.bias") else None,
        )

    def affine(self, value: str, matrix: np.ndarray, bias: np.ndarray | None = None) -> str:
        """x W' + b with W [out, in] given."""
        product = self.node("MatMul", value, self.constant(np.ascontiguousarray(matrix.T)))
        return product if bias is None else self.node("Add", product, self.constant(bias))

    def layer_norm(self, value: str, name: str, eps: float) -> str:
        """Layer norm over the last axis."""
        return self.node(
            "LayerNormalization",
            value,
            self.constant(self.weight(f"{name}.weight")),
            self.constant(self.weight(f"{name}.bias")),
            axis=-1,
            epsilon=float(eps),
        )

    def attention(
        self, query: str, key: str, value: str, n_heads: int, width: int, bias: str | None = None
    ) -> str:
        """softmax(q k' / sqrt(w) + bias) v with heads of width w; values are [n, t, width]."""
        size = width // n_heads
        shape = self.constant(np.array([0, 0, n_heads, size], np.int64))
        q, k, v = (self.node("Reshape", each, shape) for each in (query, key, value))
        q = self.node("Transpose", q, perm=[0, 2, 1, 3])  # [n, heads, t, size]
        k = self.node("Transpose", k, perm=[0, 2, 3, 1])  # [n, heads, size, t]
        v = self.node("Transpose", v, perm=[0, 2, 1, 3])
        scores = self.node(
            "Mul", self.node("MatMul", q, k), self.constant(np.array(size**-0.5, np.float32))
        )
        if bias is not None:
            scores = self.node("Add", scores, bias)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), v)
        joined = self.node("Transpose", mixed, perm=[0, 2, 1, 3])
        return self.node("Reshape", joined, self.constant(np.array([0, 0, width], np.int64)))

    def gelu(self, value: str) -> str:
        """x P(N(0, 1) <= x), exactly."""
        half, one, root = (
            self.constant(np.array(number, np.float32)) for number in (0.5, 1.0, 2**-0.5)
        )
        share = self.node("Add", self.node("Erf", self.node("Mul", value, root)), one)
        return self.node("Mul", self.node("Mul", value, half), share)

    def first_token(self, value: str) -> str:
        """Of [n, t, d] the first, [n, d]."""
        first = self.node("Gather", value, self.constant(np.array([0], np.int64)), axis=1)
        return self.node("Squeeze", first, self.constant(np.array([1], np.int64)))

    def quick_gelu(self, value: str) -> str:
        """x / (1 + exp(-1.702 x)), what CLIP was trained with."""
        slope = self.constant(np.array(1.702, np.float32))
        return self.node("Mul", value, self.node("Sigmoid", self.node("Mul", value, slope)))

    def features(self, value: str, width: int) -> None:
        """Declare ``value`` [n, width] as the output ``features``."""
        self.graph.node("Identity", [value], "features")
        self.graph.output("features", "float32", ["n", width])

    def model(self) -> bytes:
        """The file."""
        return self.graph.model(opset=OPSET)

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count}"
