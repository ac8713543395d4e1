"""The options after the question mark of an extractor's name, read once and all of them."""

from __future__ import annotations

from collections.abc import Mapping

from simifeat.errors import InputError

Triple = tuple[float, float, float]


class Options:
    """Takes options one by one; ``finish`` refuses what nobody took."""

    def __init__(self, extractor: str, given: Mapping[str, str]) -> None:
        self._extractor = extractor
        self._left = dict(given)
        self._taken: list[str] = []

    def integer(self, name: str, default: int | None, least: int = 1) -> int | None:
        """A whole number."""
        text = self._take(name)
        if text is None:
            return default
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise InputError(
                f"option {name}={text} of the extractor {self._extractor}: give a whole number of "
                f"at least {least}"
            )
        return value

    def share(self, name: str, default: float) -> float:
        """A number of at least 0 and below 1."""
        text = self._take(name)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < 1:
            raise InputError(
                f"option {name}={text} of the extractor {self._extractor}: give a share of at "
                "least 0 and below 1"
            )
        return value

    def choice(self, name: str, allowed: tuple[str, ...], default: str | None) -> str | None:
        """One of some words."""
        text = self._take(name)
        if text is not None and text not in allowed:
            raise InputError(
                f"option {name}={text} of the extractor {self._extractor}: choose one of "
                f"{', '.join(allowed)}"
            )
        return text if text is not None else default

    def text(self, name: str, default: str | None) -> str | None:
        """Any text."""
        text = self._take(name)
        return text if text is not None else default

    def triple(self, name: str, default: Triple | None) -> Triple | None:
        """Three numbers with commas between, or one for all three."""
        text = self._take(name)
        if text is None:
            return default
        try:
            values = [float(part) for part in text.split(",")]
        except ValueError:
            values = []
        if len(values) not in (1, 3):
            raise InputError(
                f"option {name}={text} of the extractor {self._extractor}: give one number, or "
                "three with commas between"
            )
        red, green, blue = values * (3 // len(values))
        return red, green, blue

    def finish(self) -> None:
        """Refuse options that nobody took."""
        if self._left:
            raise InputError(
                f"the extractor {self._extractor} has no option {next(iter(self._left))!r}; it "
                f"knows {', '.join(self._taken) or 'none'}"
            )

    def _take(self, name: str) -> str | None:
        self._taken.append(name)
        return self._left.pop(name, None)
