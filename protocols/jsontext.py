"""Text as JSON bytes, for bodies that are put together by hand because it is the hot path."""

from __future__ import annotations

from json.encoder import encode_basestring, encode_basestring_ascii

__all__ = ["escaped"]


def escaped(text: str) -> bytes:
    """``text`` as a JSON string in UTF-8, quotes included."""
    try:
        return encode_basestring(text).encode()
    except UnicodeEncodeError:  # a lone surrogate: only its ASCII escape can be sent
        return encode_basestring_ascii(text).encode()
