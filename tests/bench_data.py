"""A folder as ``simifeat bench`` reads it, small enough for a test."""

import numpy as np

N, N_CLASSES = 300, 3


def write_features(folder, extractors=("good",), dataset="cifar10"):
    """Features of each name, the later the noisier; true labels and people's, a fifth corrupted."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    clean = np.arange(N) % N_CLASSES
    centres = 4 * np.eye(8)[clean]
    for worse, name in enumerate(extractors):
        features = centres + rng.normal(0, 1 + worse, (N, 8))
        np.save(folder / f"{dataset}_{name}.npy", features.astype(np.float16))
    human = np.where(rng.random(N) < 0.2, (clean + 1) % N_CLASSES, clean)
    arrays = {f"{dataset}_clean": clean, f"{dataset}_human": human}
    np.savez(folder / f"{dataset}_labels.npz", **arrays)
    return folder


def write_pictures(folder, n=N):
    """Pictures coloured by class, in the binary layout of CIFAR-10."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    clean = np.arange(n) % N_CLASSES
    shades = np.array([[200, 60, 60], [60, 200, 60], [60, 60, 200]])
    planes = shades[clean][:, :, None] + rng.normal(0, 50, (n, 3, 1024))
    records = np.hstack([clean[:, None], planes.clip(0, 255).reshape(n, -1)]).astype(np.uint8)
    for number, part in enumerate(np.array_split(records, 5), start=1):
        part.tofile(folder / f"data_batch_{number}.bin")
    return folder
