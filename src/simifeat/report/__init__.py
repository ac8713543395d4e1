"""The report: summarise -> render -> write, one file each. ``report.json`` is the same summary."""

from simifeat.report.page import render
from simifeat.report.summary import Summary, summarise
from simifeat.report.write import write_report

__all__ = ["Summary", "render", "summarise", "write_report"]
