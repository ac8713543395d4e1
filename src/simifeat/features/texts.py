"""Texts as features: the mean of their words' vectors, or a transformer on ONNX Runtime."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.errors import InputError, require
from simifeat.features.session import is_on_gpu, open_session
from simifeat.io.records import Content, Kind, Unreadable

_CPU_BATCH = 4
_GPU_BATCH = 64
_STATIC_BATCH = 64


def open_tokenizer(file: bytes, name: str, n_tokens: int) -> Any:
    """A ``tokenizers.Tokenizer`` that cuts texts off after ``n_tokens``."""
    tokenizers = require("tokenizers", extra="text")
    try:
        tokenizer = tokenizers.Tokenizer.from_str(file.decode("utf-8"))
    except Exception as error:  # the library raises plain Exception
        raise InputError(
            f"the tokenizer of {name} cannot be read ({error}); give a tokenizer.json"
        ) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(n_tokens)
    return tokenizer


class WordVectors:
    """The mean of the vectors of a text's tokens: no network, so many thousand texts a second."""

    kind: Kind = "text"
    notes: tuple[str, ...] = ()
    batch_size = _STATIC_BATCH

    def __init__(
        self, name: str, vectors: NDArray[np.float32], tokenizer: bytes, n_tokens: int
    ) -> None:
        self.name = name
        digest = hashlib.sha256(np.ascontiguousarray(vectors).tobytes())
        digest.update(tokenizer)
        self.identity = f"{name} {digest.hexdigest()} {n_tokens}"
        self._vectors = vectors
        self._tokenizer = open_tokenizer(tokenizer, name, n_tokens)

    def prepare(self, content: Content) -> str:
        """A text with something to read."""
        return checked_text(content)

    def run(self, batch: Sequence[str]) -> NDArray[np.float32]:
        """Features [b, d]."""
        encoded = self._tokenizer.encode_batch_fast(list(batch), add_special_tokens=False)
        return np.stack([self._vectors[each.ids].mean(axis=0) for each in encoded])


class Transformer:
    """A text network: ``input_ids`` and ``attention_mask`` [b, t] to features."""

    kind: Kind = "text"
    notes: tuple[str, ...] = ()

    def __init__(self, name: str, file: bytes, tokenizer: bytes, n_tokens: int) -> None:
        self.name = name
        digest = hashlib.sha256(file)
        digest.update(tokenizer)
        self.identity = f"{name} {digest.hexdigest()} {n_tokens}"
        self._session = open_session(file, name)
        self._inputs = self._known_inputs()
        self._tokenizer = open_tokenizer(tokenizer, name, n_tokens)
        self.batch_size = _GPU_BATCH if is_on_gpu(self._session) else _CPU_BATCH

    def prepare(self, content: Content) -> str:
        """A text with something to read."""
        return checked_text(content)

    def run(self, batch: Sequence[str]) -> NDArray[np.float32]:
        """Features [b, d]."""
        encoded = self._tokenizer.encode_batch_fast(list(batch))
        longest = max(len(each.ids) for each in encoded)
        ids = np.zeros((len(batch), longest), np.int64)  # 0 pads; the mask says so
        mask = np.zeros((len(batch), longest), np.int64)
        for row, each in enumerate(encoded):
            ids[row, : len(each.ids)] = each.ids
            mask[row, : len(each.ids)] = 1
        values = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        output = self._session.run(None, {name: values[name] for name in self._inputs})[0]
        if output.ndim == 3:  # [b, t, d]
            weights = mask[..., None].astype(np.float32)
            output = (output * weights).sum(axis=1) / weights.sum(axis=1)
        return np.asarray(output, np.float32)

    def _known_inputs(self) -> list[str]:
        names = [each.name for each in self._session.get_inputs()]
        unknown = set(names) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown:
            raise InputError(
                f"the model {self.name} has the input {unknown.pop()!r}; text networks here take "
                "input_ids, attention_mask and token_type_ids"
            )
        return names


def checked_text(content: Content) -> str:
    """The text, if there is something to read in it."""
    if isinstance(content, bytes):
        raise Unreadable("bytes where a text should be")
    if not any(character.isalnum() for character in content):
        raise Unreadable("no letters or digits in the text")
    return content
