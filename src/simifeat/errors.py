"""Every error a user can meet. A message names what is wrong, where, and what to do about it."""

from __future__ import annotations

import importlib
from types import ModuleType


class SimifeatError(Exception):
    """Base of every error raised on purpose; the command line prints one line and exits with 2."""


class InputError(SimifeatError, ValueError):
    """What was given cannot be used: wrong shape, missing column, unreadable file."""


class OutputError(SimifeatError, OSError):
    """A result could not be written; whatever stood at the target before is untouched."""


class MissingExtra(SimifeatError, ImportError):
    """An optional dependency is needed for what was asked."""


class NotIdentifiable(UserWarning):
    """A quantity cannot be told from these data; the text says why and the result is marked."""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional ``module`` or say which install line brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{module} is not installed; install it with: pip install 'simifeat[{extra}]'"
        ) from error
