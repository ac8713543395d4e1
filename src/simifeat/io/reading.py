"""What can go wrong while a file is read, each told in one line."""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from simifeat.errors import InputError, SimifeatError
from simifeat.io.atomic import FULL

_LONGEST_DETAIL = 160
_BROKEN = (
    ValueError,  # numpy and json; pyarrow's ArrowInvalid is one, too
    TypeError,  # a header of .npy that is not one
    SyntaxError,
    tokenize.TokenError,
    KeyError,
    EOFError,
    NotImplementedError,
    OverflowError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
    pa.ArrowException,
)


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn what reading ``path`` as a ``kind`` may raise into an InputError of one line."""
    try:
        yield
    except SimifeatError:
        raise
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the path") from None
    except PermissionError:
        raise InputError(f"cannot read {path}: no permission") from None
    except IsADirectoryError:
        raise InputError(f"cannot read {path}: it is a folder, not {kind}") from None
    except OSError as error:
        if error.errno in FULL:
            raise  # a copy is written while the original is read: the fault of the copy
        if error.errno is not None:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
        raise _broken(path, kind, error) from error  # pyarrow's word for a corrupt file
    except _BROKEN as error:
        raise _broken(path, kind, error) from error


def _broken(path: Path, kind: str, error: Exception) -> InputError:
    detail = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    if len(detail) > _LONGEST_DETAIL:
        detail = detail[:_LONGEST_DETAIL].rstrip() + "..."
    return InputError(f"cannot read {path} as {kind}, it is damaged or cut short ({detail})")
