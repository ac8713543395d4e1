"""Detection on data larger than memory, on one machine or on a Ray cluster, with the same answer.

A run is a row of stages. A stage is a pure function of files and settings that writes files whole
or not at all, so it may be stopped, repeated, or run twice at once. What runs the stages, threads
here or Ray there, decides nothing but where and when.
"""

from simifeat.distributed.run import detect_files

__all__ = ["detect_files"]
