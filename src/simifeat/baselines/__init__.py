"""The detectors the paper compares with, each in one file, with the call and result of ``detect``.

All of them train a classifier on the given labels: by default a linear layer on the features, or
with ``trainer=simifeat.baselines.resnet.ResNetTrainer()`` a ResNet on pictures.
"""

from simifeat.baselines.ce_sieve import ce_sieve
from simifeat.baselines.confident_learning import confident_learning
from simifeat.baselines.cores import cores
from simifeat.baselines.deep_knn import deep_knn
from simifeat.baselines.linear import LinearTrainer
from simifeat.baselines.registry import DETECTORS, Detector, detector
from simifeat.baselines.tracin import tracin
from simifeat.baselines.training import Recipe

__all__ = [
    "DETECTORS",
    "Detector",
    "LinearTrainer",
    "Recipe",
    "ce_sieve",
    "confident_learning",
    "cores",
    "deep_knn",
    "detector",
    "tracin",
]
