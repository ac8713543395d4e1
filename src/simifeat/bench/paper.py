"""The figures the paper prints, to stand beside ours."""

from __future__ import annotations

SETTINGS = tuple(
    (dataset, noise)
    for dataset in ("cifar10", "cifar100")
    for noise in ("human", "symm60", "asym30", "inst40")
)
NOISE_TITLES = {
    "human": "Human",
    "symm60": "Symm. 0.6",
    "asym30": "Asym. 0.3",
    "inst40": "Inst. 0.4",
}
DATASET_TITLES = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}


def _by_setting(rows: dict[str, tuple[float, ...]]) -> dict[tuple[str, str, str], float]:
    return {
        (method, *setting): f1
        for method, figures in rows.items()
        for setting, f1 in zip(SETTINGS, figures, strict=True)
    }


TABLE1 = _by_setting(
    {
        "cores": (65.00, 92.94, 7.68, 87.43, 3.52, 92.34, 0.02, 9.67),
        "confident_learning": (55.85, 80.59, 76.45, 62.89, 64.58, 78.98, 52.96, 50.08),
        "tracin": (55.02, 76.94, 73.47, 58.85, 61.75, 76.74, 48.42, 49.89),
        "deep_knn": (56.21, 82.35, 75.24, 63.08, 57.40, 70.69, 56.75, 63.85),
        "vote": (82.30, 93.21, 82.52, 81.09, 73.19, 84.48, 65.42, 74.26),
        "rank": (83.28, 95.56, 83.58, 82.26, 74.67, 88.68, 62.89, 73.53),
    }
)
"""F1 in per cent by method, dataset and noise; ResNet-34 trained, or SimCLR features."""

TABLE2 = _by_setting(
    {
        "ce_sieve": (67.21, 94.56, 5.24, 8.41, 16.24, 88.55, 2.6, 1.63),
        "cores": (83.18, 96.94, 12.05, 88.89, 38.52, 92.33, 7.02, 85.52),
        "confident_learning": (69.76, 95.03, 77.14, 62.91, 67.64, 85.67, 62.58, 61.53),
        "tracin": (81.85, 95.96, 80.75, 64.97, 79.32, 91.03, 63.12, 64.31),
        "deep_knn": (82.98, 87.47, 76.96, 77.42, 72.33, 82.95, 64.96, 74.25),
        "vote": (87.43, 96.44, 88.97, 87.11, 76.26, 86.88, 73.50, 80.03),
        "rank": (87.45, 96.74, 89.04, 91.14, 79.21, 90.54, 68.14, 77.37),
    }
)
"""The same on fixed features of CLIP's ViT-B/32."""

TABLE3 = {
    "R18-Img": (35.73, 75.40, 80.22, 11.30, 74.91, 71.99),
    "R34-Img": (48.13, 79.52, 82.43, 16.17, 76.88, 74.00),
    "R50-Img": (45.77, 78.40, 82.06, 15.81, 76.55, 73.51),
    "ViT-B/32-CLIP": (64.12, 87.45, 91.14, 19.94, 79.21, 77.37),
    "R34-C10-SSL": (69.31, 83.28, 85.26, 2.59, 68.03, 65.94),
    "R34-C10-Clean": (99.41, 98.39, 98.59, 0.22, 60.90, 60.73),
    "R34-C100-SSL": (18.59, 59.96, 74.99, 22.46, 74.67, 73.53),
    "R34-C100-Clean": (18.58, 60.17, 76.41, 89.07, 92.87, 95.29),
}
"""Extractor -> 1 - delta_k, F1 of rank on human and inst40 labels, of CIFAR-10, then CIFAR-100."""

TABLE4 = {
    ("none", "unbalanced"): (100.0, 70.32, 69.44, 69.53),
    ("none", "balanced"): (100.0, 72.20, 71.40, 71.22),
    ("R50-Img", "unbalanced"): (77.0, 72.37, 71.95, 71.89),
    ("R50-Img", "balanced"): (77.0, 72.42, 72.06, 72.24),
    ("ViT-B/32-CLIP", "unbalanced"): (70.0, 72.54, 72.23, 72.11),
    ("ViT-B/32-CLIP", "balanced"): (70.0, 72.99, 72.76, 72.91),
    ("R50-Img Warmup-1", "unbalanced"): (76.7, 73.64, 73.28, 73.41),
    ("R50-Img Warmup-1", "balanced"): (76.7, 73.97, 73.37, 73.35),
}
"""Selection and sampling -> share trained on, test accuracy best, last 10, last epoch."""
