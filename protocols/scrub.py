"""Secrets out of text that came from elsewhere, also where they are escaped or in pieces.

Hosts repeat keys shortened (``sk-ab...yz``), escaped (JSON, percent, HTML), encoded (base64,
hexadecimal) or with blanks between.
:func:`protocols.secrets.masked` finds a key as it is and costs nothing; this finds the others, in
texts that are shown to people and kept in records.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from protocols.secrets import Secret

__all__ = ["Scrubber"]

#: A run of this many characters of a secret is taken out; shorter ones are everywhere.
PIECE = 6

#: Characters as other layers write them: JSON and JavaScript escapes, percent, HTML references.
_ESCAPE = re.compile(
    r"(?:\\|%(?:25)*5[cC])+u\{?0{0,4}([0-9a-fA-F]{2})\}?|\\+x([0-9a-fA-F]{2})|%(?:25)*([0-9a-fA-F]{2})"
    r"|&(?:amp;)*#x0*([0-9a-fA-F]{2});?|&(?:amp;)*#0*([0-9]{2,3});?|&(?:amp;)*(amp|lt|gt|quot|apos);"
)
_SPECIAL = re.compile(r"[\s\\%&]")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class Scrubber:
    """Call it with a text: every secret in it, and every piece of one of six characters or more,
    becomes ``***``. Time grows with the length of the text: cut it first."""

    def __init__(self, secrets: Sequence[Secret]) -> None:
        texts = [text for secret in secrets for text in (secret.reveal(), *secret.encoded())]
        known = ["".join(letter for letter, _, _ in _letters(text)) for text in texts]
        self._pieces = {s[i : i + PIECE] for s in known if s for i in range(max(len(s) - PIECE, 0) + 1)}
        self._lengths = sorted({len(piece) for piece in self._pieces})

    def __call__(self, text: str) -> str:
        """The text without them."""
        if not self._pieces:
            return text
        if text.isprintable() and not _SPECIAL.search(text):
            starts = range(len(text))
            if all(self._pieces.isdisjoint([text[i : i + n] for i in starts]) for n in self._lengths):
                return text
        letters = _letters(text)
        plain = "".join(letter for letter, _, _ in letters)
        parts: list[str] = []
        shown = 0  # how much of the text has been dealt with
        for i in range(len(plain)):
            length = self._at(plain, i)
            if length:
                begin, end = letters[i][1], letters[i + length - 1][2]
                if begin > shown or not parts:
                    parts += (text[shown:begin], "***")
                shown = max(shown, end)
        return self._as_it_is("".join((*parts, text[shown:])))

    def _as_it_is(self, text: str) -> str:
        """Without the pieces that stand there letter for letter: what precedes one may have made its
        first letters look like the end of an escape."""
        if not any(piece in text for piece in self._pieces):
            return text
        covered = bytearray(len(text))
        for i in range(len(text)):
            length = self._at(text, i)
            covered[i : i + length] = b"\1" * length
        runs = groupby(zip(text, covered, strict=True), key=lambda pair: pair[1])
        return "".join("***" if hit else "".join(letter for letter, _ in run) for hit, run in runs)

    def _at(self, plain: str, i: int) -> int:
        """The length of the longest piece that begins at ``i``; 0 for none."""
        return max((n for n in self._lengths if plain[i : i + n] in self._pieces), default=0)


def _letters(text: str) -> list[tuple[str, int, int]]:
    """The characters a reader would decode from ``text``, each with the span it came from. Blanks,
    what does not print and lone backslashes are left out."""
    found = []
    at = 0
    while at < len(text):
        letter, end = text[at], at + 1
        if letter in "\\%&":
            escape = _ESCAPE.match(text, at)
            if escape is not None:
                *codes, decimal, name = escape.groups()
                code = next((c for c in codes if c), None)
                letter = chr(int(code, 16)) if code else chr(int(decimal)) if decimal else _NAMED[name]
                end = escape.end()
        if letter.isprintable() and not letter.isspace() and letter != "\\":
            found.append((letter, at, end))
        at = end
    return found
