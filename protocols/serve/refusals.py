"""The error replies of the server, in the shapes of the Jev protocol.

::

    Refused         any reply that is no answer: a status, a ``detail`` and perhaps headers
    ├── BadRequest  raised by a served function: this request asks for what it cannot do
    └── Unfit       422: the body does not fit the schema; ``detail`` lists every place

``detail`` is an object with ``error_type`` and ``message``, or for 422 a list of ``loc``, ``msg``
and ``type``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["BadRequest", "Refused", "Unfit"]

#: Complaints about one body that are listed at most.
_LISTED = 20


class Refused(Exception):
    """The request gets this status and this body, ``{"detail": detail}``."""

    def __init__(self, status: int, detail: Any, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})

    @classmethod
    def because(cls, status: int, kind: str, message: str, **headers: str) -> Refused:
        """A ``detail`` object; a header's ``_`` stands for ``-``."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Refused(status, {"error_type": kind, "message": message}, named)


class BadRequest(Refused):
    """Raise this in a served function (or return it as an element of a batch) to turn a request
    down with a 4xx: it needs more tokens than fit, an option no model of yours can read...

    ``message`` is shown to the caller; ``error_type`` may be ``max_tokens_exceeded`` as at Jev.
    Raises ValueError for a status that is no 4xx, since the request is to blame.
    """

    def __init__(self, message: str, status: int = 400, error_type: str = "api_usage_error") -> None:
        if not 400 <= status <= 499:
            raise ValueError(f"a BadRequest has a status from 400 to 499, not {status}")
        super().__init__(status, {"error_type": error_type, "message": str(message)})


class Unfit(Refused):
    """422 with one entry a complaint; ``complaints`` are (place below the body, message, kind)."""

    def __init__(self, complaints: Sequence[tuple[Sequence[str | int], str, str]]) -> None:
        listed = [
            {"loc": ["body", *place], "msg": message, "type": kind}
            for place, message, kind in complaints[:_LISTED]
        ]
        super().__init__(422, listed)
