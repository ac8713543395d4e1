"""RandPreProcess of Algorithm 1: random changes of a record that leave its class as it is.

Each is called with a generator of the row's own (``simifeat.features.extract``), so that an epoch
depends on its seed alone. For tables see ``noisy_epoch``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError


@dataclass(frozen=True)
class ImageAugment:
    """Crop after padding and flip, as in the paper; colours only if asked for."""

    padding: float = 0.125
    """Black border to crop from, as a share of the side: 4 of 32 pixels."""
    flip: bool = True
    """Whether half of the pictures are mirrored; not for letters and digits."""
    jitter: float = 0.0
    """Brightness, contrast and saturation each change by a factor in 1 - jitter to 1 + jitter."""

    def __post_init__(self) -> None:
        _check_share("padding", self.padding)
        _check_share("jitter", self.jitter)

    @property
    def identity(self) -> str:
        """Name and settings."""
        return repr(self)

    def __call__(self, prepared: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
        """Another picture [h, w, 3] of the same thing."""
        height, width = prepared.shape[:2]
        border = (round(self.padding * height), round(self.padding * width))
        down, right = (int(rng.integers(-b, b + 1)) for b in border)
        flips = bool(rng.integers(2)) if self.flip else False
        factors = rng.uniform(1 - self.jitter, 1 + self.jitter, 3)
        changed = _shifted(prepared, down, right)
        if flips:
            changed = changed[:, ::-1]
        return _recoloured(changed, factors) if self.jitter else changed


@dataclass(frozen=True)
class TextAugment:
    """Token dropout: each word is left out with a small probability, never all of them."""

    dropout: float = 0.1

    def __post_init__(self) -> None:
        _check_share("dropout", self.dropout)

    @property
    def identity(self) -> str:
        """Name and settings."""
        return repr(self)

    def __call__(self, prepared: str, rng: np.random.Generator) -> str:
        """The text without some of its words."""
        words = prepared.split()
        left = rng.random(len(words)) >= self.dropout
        if not left.any():
            return prepared
        return " ".join(word for word, stays in zip(words, left, strict=True) if stays)


def noisy_epoch(
    features: NDArray[np.float32], seed: int, epoch: int, scale: float = 0.1
) -> NDArray[np.float32]:
    """Feature noise for tables: N(0, (scale * deviation of the column)^2) added to [n, d].

    For columns that are numbers; scale is small beside what tells two rows apart.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(epoch,)))
    deviation = features.std(axis=0, dtype=np.float64).astype(np.float32)  # [d]
    noise = rng.standard_normal(features.shape, dtype=np.float32)
    return features + noise * (np.float32(scale) * deviation)


def _shifted(pixels: NDArray[np.uint8], down: int, right: int) -> NDArray[np.uint8]:
    """The picture moved by some pixels, black where nothing came in."""
    height, width = pixels.shape[:2]
    moved = np.zeros_like(pixels)
    moved[max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)] = pixels[
        max(-down, 0) : height + min(-down, 0), max(-right, 0) : width + min(-right, 0)
    ]
    return moved


def _recoloured(pixels: NDArray[np.uint8], factors: NDArray[np.float64]) -> NDArray[np.uint8]:
    brightness, contrast, saturation = factors.astype(np.float32)
    values = pixels.astype(np.float32) * brightness
    values = values.mean() + (values - values.mean()) * contrast
    grey = (values @ np.array([0.299, 0.587, 0.114], np.float32))[..., None]  # [h, w, 1]
    values = grey + (values - grey) * saturation
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _check_share(name: str, value: float) -> None:
    if not 0 <= value < 1:
        raise InputError(f"{name} is {value}; give a share of at least 0 and below 1")
