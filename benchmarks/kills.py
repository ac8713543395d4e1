"""A staged run killed without grace at random moments: each resumed run ends with the same bytes.

python benchmarks/kills.py --kills 30
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _common import parser, write_result
from _mixtures import mixture_files
from _runs import detect_command, run


def killed_run(command: list[str], seconds: float) -> float | None:
    """Start, kill after ``seconds``; when that was, None if the run had ended before."""
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        running.wait(seconds)
    except subprocess.TimeoutExpired:
        running.send_signal(signal.SIGKILL)
        running.wait()
        return seconds
    return None


def main() -> None:
    """Run and write the result."""
    arguments = parser(__doc__ or "", "kills.json")
    arguments.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "scale")
    arguments.add_argument("--kills", type=int, default=30)
    arguments.add_argument("--rows", type=int, default=40_000)
    chosen = arguments.parse_args()
    features, labels, _ = mixture_files(chosen.data, chosen.work, chosen.rows, 256, chosen.seed)
    output = chosen.work / "killed.parquet"
    command = detect_command(features, labels, output, "--memory", "2GB")
    whole_run = run([*command, "--fresh"])
    whole = output.read_bytes()
    rng = random.Random(chosen.seed)
    moments, same = [], 0
    while len(moments) < chosen.kills:
        output.unlink(missing_ok=True)
        moment = killed_run(command, rng.uniform(0.05, 0.95) * whole_run.seconds)
        if moment is None:
            continue
        stages = sorted({path.name.rsplit("-", 1)[0] for path in _work(output).glob("*-*.npz")})
        begun = time.perf_counter()
        run(command)
        equal = output.read_bytes() == whole
        same += equal
        moments.append(
            {
                "killed_after": round(moment, 2),
                "stages_begun": stages,
                "seconds_to_end": round(time.perf_counter() - begun, 2),
                "same_bytes": equal,
            }
        )
        print(moments[-1], flush=True)
    result = {
        "rows": chosen.rows,
        "uninterrupted_seconds": round(whole_run.seconds, 2),
        "kills": len(moments),
        "same_bytes": same,
        "moments": moments,
    }
    write_result(chosen.output, chosen.seed, result)
    if same < len(moments):
        sys.exit("some resumed runs ended with other bytes")


def _work(output: Path) -> Path:
    return output.with_name(output.name + ".work")


if __name__ == "__main__":
    main()
