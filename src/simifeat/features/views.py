"""Random views of a picture for SimCLR: crop, flip, colours, sometimes grey; a batch at a time."""

from __future__ import annotations

from typing import Any

from simifeat.errors import require

_SMALLEST_AREA = 0.2  # of a crop; Chen et al. take .08 at 224 pixels, which leaves nothing of 32
_JITTERED, _JITTER = 0.8, 0.4  # how often colours change, and by which factor 1 - j to 1 + j
_GREY = 0.2
_LUMA = (0.299, 0.587, 0.114)


def random_view(pixels: Any, generator: Any) -> Any:
    """Another view of each of ``pixels`` [b, 3, h, w] in 0..255; draws on the processor."""
    torch: Any = require("torch", extra="torch")
    b, device = len(pixels), pixels.device

    def uniform(low: float, high: float, *shape: int) -> Any:
        drawn = torch.rand(shape, generator=generator) * (high - low) + low
        return drawn.to(device)

    def chosen(share: float) -> Any:
        return (torch.rand(b, 1, 1, 1, generator=generator) < share).to(device)

    side = uniform(_SMALLEST_AREA, 1, b).sqrt()  # [b], share of the picture's own side
    stretch = uniform(-1, 1, b).mul(0.2877).exp().sqrt()  # 3:4 to 4:3
    across, down = (side * stretch).clamp(max=1), (side / stretch).clamp(max=1)
    flips = 1 - 2 * (torch.rand(b, generator=generator) < 0.5).to(device).float()
    moved = torch.zeros(b, 2, 3, device=device)
    moved[:, 0, 0], moved[:, 1, 1] = across * flips, down
    moved[:, 0, 2] = uniform(-1, 1, b) * (1 - across)
    moved[:, 1, 2] = uniform(-1, 1, b) * (1 - down)
    grid = torch.nn.functional.affine_grid(moved, pixels.shape, align_corners=False)
    view = torch.nn.functional.grid_sample(
        pixels, grid, padding_mode="reflection", align_corners=False
    )
    luma = torch.tensor(_LUMA, device=device).view(1, 3, 1, 1)
    changed = view * uniform(1 - _JITTER, 1 + _JITTER, b, 1, 1, 1)  # brightness
    mean = (changed * luma).sum(1, keepdim=True).mean((2, 3), keepdim=True)
    changed = mean + (changed - mean) * uniform(1 - _JITTER, 1 + _JITTER, b, 1, 1, 1)  # contrast
    grey = (changed * luma).sum(1, keepdim=True)
    changed = grey + (changed - grey) * uniform(1 - _JITTER, 1 + _JITTER, b, 1, 1, 1)  # saturation
    view = torch.where(chosen(_JITTERED), changed, view)
    view = torch.where(chosen(_GREY), (view * luma).sum(1, keepdim=True), view)
    return view.clamp(0, 255)


def cropped_and_flipped(pixels: Any, generator: Any, padding: float = 0.125) -> Any:
    """``pixels`` [b, 3, h, w] moved by up to ``padding`` of a side, half of them mirrored."""
    torch: Any = require("torch", extra="torch")
    b, device = len(pixels), pixels.device
    moved = torch.zeros(b, 2, 3, device=device)
    flips = 1 - 2 * (torch.rand(b, generator=generator) < 0.5).to(device).float()
    moved[:, 0, 0], moved[:, 1, 1] = flips, 1
    moved[:, :, 2] = (torch.rand(b, 2, generator=generator).to(device) * 2 - 1) * 2 * padding
    grid = torch.nn.functional.affine_grid(moved, pixels.shape, align_corners=False)
    return torch.nn.functional.grid_sample(pixels, grid, align_corners=False)
