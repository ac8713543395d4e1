"""Nearest neighbours: exact, approximate or brought along, one contract."""

from simifeat.neighbors.base import Metric, Neighbors
from simifeat.neighbors.find import find_neighbors
from simifeat.neighbors.precomputed import Graph, as_neighbors

__all__ = ["Graph", "Metric", "Neighbors", "as_neighbors", "find_neighbors"]
