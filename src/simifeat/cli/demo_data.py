"""What ``simifeat demo`` judges: digits of scikit-learn and made-up mail, corrupted on purpose."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat import noise
from simifeat.io.atomic import write_bytes
from simifeat.io.names import CLEAN_LABEL

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TO_ANY, _TO_NEXT = 0.15, 0.1  # shares of labels that go to any other class, and to the next
N_TEXTS = 1000

_OPENINGS = ("Hello,", "Hi there,", "Dear team,", "Good morning,", "To whom it may concern,", "")
_CLOSINGS = (
    "Please help.",
    "Thank you in advance.",
    "I look forward to your answer.",
    "This is the second time I write.",
    "Kind regards.",
    "",
)
_THINGS = ("the lamp", "the kettle", "the desk", "the headphones", "the tent", "the bicycle light")
_TOPICS: dict[str, tuple[str, ...]] = {
    "delivery": (
        "{thing} was to arrive on Monday and the parcel is still not here.",
        "the courier left {thing} at the wrong address.",
        "tracking says {thing} was shipped two weeks ago and nothing came.",
        "where is my parcel? The depot says {thing} never left the warehouse.",
        "can the driver bring {thing} in the evening, or to a parcel shop?",
        "the postman says nobody was at home, but I waited for {thing} all day.",
    ),
    "billing": (
        "I was charged twice for {thing} on my credit card.",
        "the invoice for {thing} shows another price than the shop did.",
        "the refund for {thing} is not on my bank account yet.",
        "please send the invoice for {thing} with our tax number on it.",
        "my voucher was not taken off the amount I paid for {thing}.",
        "the payment for {thing} failed, but the money left my bank account.",
    ),
    "account": (
        "I cannot log in to see the order of {thing}; the password is refused.",
        "the link to set a new password never comes by mail.",
        "please change the mail address of my account and delete the old one.",
        "my account is locked since I typed the password of it wrong three times.",
        "the app signs me out whenever I open my profile.",
        "how do I close my account and have my personal data deleted?",
    ),
    "defect": (
        "{thing} broke on the first day, a screw fell out of it.",
        "{thing} does not switch on although the battery is new.",
        "{thing} came out of its box with a crack on the side.",
        "a part of {thing} is missing, so it cannot be put together.",
        "{thing} makes a strange noise and smells burnt when it is used.",
        "{thing} stopped working after a week and is still under warranty.",
    ),
    "praise": (
        "{thing} is wonderful, my whole family loves it.",
        "what a friendly service, and {thing} is even better than I hoped.",
        "I have never had anything as good as {thing}; five stars.",
        "{thing} looks beautiful and is a joy to use, well done.",
        "great quality, fair and kind people: I will gladly buy here again.",
        "the gift was perfect, everybody at the party admired {thing}.",
    ),
}


def write_digits(path: Path, seed: int) -> NDArray[Any]:
    """Write pixels of 8 x 8, corrupted labels and clean labels as CSV; the clean labels [n]."""
    from sklearn.datasets import load_digits  # takes a second to import

    pixels, digits = load_digits(return_X_y=True)  # [n, 64], [n]
    names = np.array(_DIGITS, dtype=object)
    labels = _corrupted(digits, len(names), seed)
    header = ["id", *(f"pixel{i}" for i in range(pixels.shape[1])), "label", CLEAN_LABEL]
    rows = zip(pixels.astype(int).tolist(), names[labels], names[digits], strict=True)
    _write(path, header, ([n, *row, *both] for n, (row, *both) in enumerate(rows)))
    return names[digits]


def write_mail(path: Path, seed: int) -> NDArray[Any]:
    """Write short texts of five topics in the same way; the clean labels [n]."""
    rng = np.random.default_rng(seed)
    names = np.array(list(_TOPICS), dtype=object)
    topics = rng.integers(0, len(names), N_TEXTS)
    texts = [_mail(names[topic], rng) for topic in topics]
    labels = _corrupted(topics, len(names), seed)
    rows = zip(range(N_TEXTS), texts, names[labels], names[topics], strict=True)
    _write(path, ["id", "text", "label", CLEAN_LABEL], rows)
    return names[topics]


def _mail(topic: str, rng: np.random.Generator) -> str:
    sentence = str(rng.choice(_TOPICS[topic])).format(thing=rng.choice(_THINGS))
    parts = (str(rng.choice(_OPENINGS)), sentence, str(rng.choice(_CLOSINGS)))
    return " ".join(part for part in parts if part)


def _corrupted(classes: NDArray[Any], k: int, seed: int) -> NDArray[Any]:
    """A quarter of ``classes`` [n] changed: some to any other of ``k``, some to the next."""
    matrix = np.full((k, k), _TO_ANY / (k - 1))
    np.fill_diagonal(matrix, 1 - _TO_ANY - _TO_NEXT)
    matrix[np.arange(k), (np.arange(k) + 1) % k] += _TO_NEXT
    return noise.from_transition(classes, matrix, seed=seed)


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_bytes(path, text.getvalue().encode())
