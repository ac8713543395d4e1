"""Nearest neighbours: exact, approximate or brought along, one contract."""

from simifeat.neighbors.base import Metric, Neighbors
from simifeat.neighbors.find import find_neighbors

__all__ = ["Metric", "Neighbors", "find_neighbors"]
