"""What users import: the names, and how little comes with them."""

import subprocess
import sys

import pytest

import simifeat

HEAVY = (
    "click", "pandas", "sklearn", "torch", "onnxruntime", "PIL", "starlette", "uvicorn", "ray",
    "matplotlib", "cleanlab", "faiss",
)  # fmt: skip


def test_the_public_names():
    assert sorted(simifeat.__all__) == [
        "InputError",
        "NotIdentifiable",
        "Run",
        "SimiFeat",
        "SimifeatError",
        "Transition",
        "Verdicts",
        "__version__",
        "consensus_labels",
        "detect",
        "detect_multilabel",
        "estimate_local_transition",
        "estimate_transition",
        "extend",
        "metrics",
        "neighbors",
        "noise",
        "theory",
    ]
    for name in simifeat.__all__:
        assert getattr(simifeat, name) is not None
    assert set(simifeat.__all__) <= set(dir(simifeat))


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'simifeat' has no attribute 'detct'"):
        _ = simifeat.detct


def loaded_by(statement):
    code = f"import sys; {statement}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_loads_nothing_heavy():
    assert not loaded_by("import simifeat").intersection(HEAVY)
    assert "sklearn" in loaded_by("import simifeat; simifeat.SimiFeat")  # the check can fail


def test_importing_takes_under_half_a_second_more_than_numpy_and_scipy():
    code = (
        "import time, numpy, scipy.sparse, scipy.special\n"
        "start = time.process_time()\nimport simifeat\nprint(time.process_time() - start)"
    )
    spent = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        spent.append(float(done.stdout))
    assert min(spent) < 0.5
