"""Code in the README and the docs runs as it stands: every python block, every console line.

Each page gets a folder of its own with small data in it, and its blocks run in order and share
their names, as a reader would type them. A block that cannot run just anywhere (a server, a GPU, a
download) is marked ``text`` or ``sh`` instead.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from simifeat.cli import main
from simifeat.settings import SETTING_NAMES

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


def blocks(text: str) -> list[tuple[str, str]]:
    """Language and content of the fenced blocks to run."""
    return re.findall(r"^```(python|console)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def small_data(folder: Path) -> dict[str, object]:
    """Files that the pages name, and the arrays that their python blocks take as given."""
    rng = np.random.default_rng(0)
    clean = rng.integers(0, 3, 120)
    features = (np.eye(3)[clean] + 0.2 * rng.normal(size=(120, 3))).astype(np.float32)
    labels = np.where(rng.random(120) < 0.2, (clean + 1) % 3, clean)
    np.savez(folder / "features.npz", features=features, labels=labels)
    np.save(folder / "features.npy", features)
    np.save(folder / "labels.npy", labels)
    return {"features": features, "labels": labels, "patients": np.arange(120) // 4}


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    """A folder with what ``simifeat demo`` leaves and verdicts on it, as most pages suppose."""
    folder = tmp_path_factory.mktemp("demo")
    output = folder / "demo-output"
    assert main(["demo", "-o", str(output)]) == 0
    assert main(["detect", str(output / "digits.csv"), "-o", str(folder / "out.parquet")]) == 0
    return folder


def run_line(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(line, comments=True)
    assert words[0] == "simifeat", f"only simifeat's own commands are tested: {line}"
    expected = 1 if "# exits with 1" in line else 0
    assert main(words[1:]) == expected, (line, capsys.readouterr().err)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.filterwarnings("ignore::simifeat.NotIdentifiable")  # the data here are tiny
def test_the_code_of_a_page_runs(page, demo, tmp_path, monkeypatch, capsys):
    found = blocks(page.read_text("utf-8"))
    if not found:
        pytest.skip("no code")
    shutil.copytree(demo, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    names = small_data(tmp_path)
    exec("import numpy as np\nimport simifeat", names)
    for language, content in found:
        if language == "python":
            exec(compile(content, str(page), "exec"), names)
            continue
        for line in content.splitlines():
            if line.startswith("$ "):
                run_line(line[2:], capsys)


def test_a_block_that_fails_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nassert simifeat.no_such_name\n```\n")
    [(_, content)] = blocks(page.read_text())
    with pytest.raises(NameError):
        exec(content, {})


def test_every_benchmark_is_listed():
    text = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    scripts = [path.name for path in (ROOT / "benchmarks").glob("[!_]*.py")]
    assert [name for name in scripts if f"| `{name}" not in text] == []


def test_every_choice_is_described():
    text = (ROOT / "docs" / "method.md").read_text("utf-8")
    assert [name for name in SETTING_NAMES if f"`{name}" not in text] == []
