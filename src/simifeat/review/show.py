"""Text of unknown origin as text that can be shown: short, and without characters that deceive."""

from __future__ import annotations

import re
from typing import Any

# What turns, hides or breaks text: controls, marks that change the direction of reading, invisible
# spaces, line separators, tags, and halves of characters, which no encoding takes. The joiners
# U+200C and U+200D stay: scripts and emoji need them.
_DECEIVING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
LABEL_LENGTH = 120
NAME_LENGTH = 40


def visible(text: str, limit: int) -> str:
    """At most ``limit`` characters of ``text``; a deceiving one is spelled out, as in \\u202e."""
    shown = _DECEIVING.sub(_spelled, text[:limit].replace("\r\n", "\n"))
    return shown + "…" if len(text) > limit else shown


def one_line(value: Any, limit: int = LABEL_LENGTH) -> str:
    """A label, an id or a name on one line; never empty, so that there is something to see."""
    shown = " ".join(visible(str(value), limit).split())
    return shown or "(empty)"


def reviewer_name(text: str) -> str:
    """The name a reviewer goes by in the log; empty if nothing of it can be shown."""
    return " ".join(_DECEIVING.sub("", text[: 10 * NAME_LENGTH]).split())[:NAME_LENGTH].strip()


def _spelled(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
