"""ResNets written as torch modules, with torchvision's names, against those described here."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (extra simifeat[torch])")
import torch
from torch import nn

from pictures import picture
from simifeat.errors import InputError
from simifeat.features.images import ImageExtractor, ImageModel
from simifeat.features.resnet import build_resnet

STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}
WIDTH = 4


class Basic(nn.Module):
    def __init__(self, n_in, inside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, inside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(inside)
        self.conv2 = nn.Conv2d(inside, inside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(inside)
        self.downsample = shortcut(n_in, inside, stride)

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    def __init__(self, n_in, inside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, inside, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(inside)
        self.conv2 = nn.Conv2d(inside, inside, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(inside)
        self.conv3 = nn.Conv2d(inside, 4 * inside, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * inside)
        self.downsample = shortcut(n_in, 4 * inside, stride)

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(torch.relu(self.bn2(self.conv2(y)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


def shortcut(n_in, n_out, stride):
    if n_in == n_out and stride == 1:
        return None
    return nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))


class ResNet(nn.Module):
    def __init__(self, depth):
        super().__init__()
        block, wider = (Bottleneck, 4) if depth == 50 else (Basic, 1)
        self.conv1 = nn.Conv2d(3, WIDTH, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(WIDTH)
        n_in = WIDTH
        for stage, n_blocks in enumerate(STAGES[depth]):
            inside = WIDTH * 2**stage
            blocks = []
            for number in range(n_blocks):
                stride = 2 if stage and number == 0 else 1
                blocks.append(block(n_in, inside, stride))
                n_in = inside * wider
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(n_in, 10)

    def forward(self, pixels):
        mean = torch.tensor([123.675, 116.28, 103.53]).view(1, 3, 1, 1)
        std = torch.tensor([58.395, 57.12, 57.375]).view(1, 3, 1, 1)
        x = torch.relu(self.bn1(self.conv1((pixels - mean) / std)))
        x = nn.functional.max_pool2d(x, 3, 2, 1)
        for stage in range(4):
            x = getattr(self, f"layer{stage + 1}")(x)
        return x.mean((2, 3))


@pytest.mark.parametrize("depth", STAGES)
def test_what_is_described_is_what_torch_computes(depth):
    generator = torch.Generator().manual_seed(depth)
    network = ResNet(depth).eval()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            for values in (module.weight, module.bias, module.running_mean, module.running_var):
                values.data = torch.rand(values.shape, generator=generator) * 0.5 + 0.5
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    shown = np.stack([picture(seed, 64) for seed in range(3)])
    with torch.no_grad():
        pixels = torch.from_numpy(shown.transpose(0, 3, 1, 2).astype(np.float32))
        wanted = network(pixels).numpy()
    file = build_resnet(weights, depth)
    found = ImageExtractor(ImageModel("test", file, 64)).run(list(shown))
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


def test_weights_of_another_network_are_refused():
    with pytest.raises(InputError, match=r"lack the tensor 'conv1.weight'"):
        build_resnet({"visual.proj": np.zeros(3, np.float32)}, 18)
    with pytest.raises(InputError, match="no ResNet of depth 19; choose one of 10, 18, 34, 50"):
        build_resnet({}, 19)
