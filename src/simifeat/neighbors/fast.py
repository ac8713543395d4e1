"""Products in bfloat16, which some processors do two to ten times as fast as float32.

A bfloat16 keeps 8 bits of a number, so a value may be off by some thousandths. The error of every
row is measured, candidates are taken with that much slack and ordered by exact keys: the result is
the same to the byte as with float32, only sooner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import require
from simifeat.neighbors.points import Points
from simifeat.neighbors.product import UNIT, Rows, centred, mean_of

_BLOCK = 4096

_PIECES = 3
"""h is split into so many bfloat16: 24 bits, as many as float32 has."""

_NATIVE = ("sapphireamx", "graniteamx", "genoa", "turin")
"""What numkong calls the processors where its bfloat16 product was seen to beat BLAS: a matrix unit
(Intel's AMX), or bfloat16 products in AVX-512 (AMD from Zen 4 on)."""


def why_not() -> str | None:
    """Why bfloat16 is not worth it on this machine, or None where it is."""
    try:
        numkong = require("numkong", "fast")
    except ImportError:
        return "numkong is not installed (pip install 'simifeat[fast]')"
    if not any(numkong.get_capabilities().get(name) for name in _NATIVE):
        return "this processor is no faster in bfloat16"
    return None


@dataclass(frozen=True)
class BFloat16Product:
    """A product of numkong: bfloat16 in, float32 out."""

    numkong: Any
    left: NDArray[np.uint16]  # [n, w] a - m, the pieces of h_a, ones, zeros; as bits
    d: int
    error: NDArray[np.float32]  # [n]
    per_key: float

    @classmethod
    def of(cls, points: Points) -> BFloat16Product:
        """Round the rows and measure by how much."""
        numkong = require("numkong", "fast")
        n, d = points.n, points.d
        mean = mean_of(points)
        left = np.zeros((n, _width(d + 2 * _PIECES)), np.uint16)
        left[:, d + _PIECES : d + 2 * _PIECES] = _bits(np.ones(1, np.float32))
        length, rounded, lost, height = np.empty((4, n))  # [n] |a|, |a'|, |a - a'|, |h_a|
        for start in range(0, n, _BLOCK):
            part = slice(start, start + _BLOCK)
            rows, h = centred(points, mean, part)
            left[part, :d] = _bits(rows)
            kept = _value(left[part, :d])
            length[part], rounded[part], lost[part] = _norm(rows), _norm(kept), _norm(rows - kept)
            height[part] = np.abs(h)
            for piece in range(_PIECES):
                left[part, d + piece] = _bits(h.astype(np.float32))
                h = h - _value(left[part, d + piece])
        # a.b - a'.b' = (a - a').b + a'.(b - b'), each at most the product of the lengths; then the
        # rounding of the sums: the product's own, and the key's
        apart = lost * length.max() + rounded * lost.max()
        terms = (length + lost) * (length + lost).max() + height + height.max()
        error = 1.001 * apart + 4.0 * (d + 32) * UNIT * terms
        per_key = 1.0
        if points.metric == "cosine":
            error += 2.0 * (d + 16) * UNIT
        else:
            per_key = 0.5
            error += (d + 16) * UNIT * (length + length.max()) ** 2
        return cls(numkong, left, d, error.astype(np.float32), per_key)

    def prepare(self, rows: Rows) -> Any:
        """Packed as numkong wants it, with pieces and ones changing places."""
        right = self.left[rows].copy()
        pieces, ones = (
            slice(self.d, self.d + _PIECES),
            slice(self.d + _PIECES, self.d + 2 * _PIECES),
        )
        right[:, pieces], right[:, ones] = self.left[rows, ones], self.left[rows, pieces]
        return self.numkong.dots_pack(self._tensor(right, "bfloat16"))

    def multiply(self, rows: Rows, right: Any, out: NDArray[np.float32]) -> None:
        """One call of numkong; it lets other threads run meanwhile."""
        left = np.ascontiguousarray(self.left[rows])
        self.numkong.dots_packed(
            self._tensor(left, "bfloat16"), right, out=self._tensor(out, "float32")
        )

    def _tensor(self, array: NDArray[Any], dtype: str) -> Any:
        """A view of ``array``, which must be contiguous."""
        return self.numkong.from_pointer(array.ctypes.data, array.shape, dtype, owner=array)


def _width(least: int) -> int:
    """Columns of a product: whole eights, but no multiple of 32, whose rows fall on one another in
    the cache: 512 columns were seen to take a quarter longer than 520."""
    width = -(-least // 8) * 8
    return width + 8 if width % 32 == 0 else width


def _bits(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Nearest bfloat16, ties to even, as bits."""
    bits = values.view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    return ((bits + (np.uint32(0x7FFF) + odd)) >> np.uint32(16)).astype(np.uint16)


def _value(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """A bfloat16 as float32."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _norm(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Length of every row, a little too long rather than too short."""
    return np.sqrt(np.einsum("nd,nd->n", rows, rows, dtype=np.float64)) * (1.0 + 2.0**-20)
