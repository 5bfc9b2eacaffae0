"""What the shapes share: a question as it was asked, and a problem to be told in a shape's words.

Every shape reads its own request into :class:`Asked` questions and writes its own reply from one
canonical reply, which has the form of System One: ``model``, ``answers`` (id -> answer) and
``usage`` (``input_tokens``, ``output_tokens``). Faults change the canonical reply, so each of them
works for every shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from typing import Protocol as Interface

if TYPE_CHECKING:
    from protocols.fake.exchange import Exchange

__all__ = ["Asked", "Kind", "Problem", "RefusedError", "Shape"]

Kind = Literal["choice", "noul", "score"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, whatever shape it came in."""

    id: str
    kind: Kind
    options: tuple[str, ...] = ()
    """The names in the order shown; the levels of a score; nothing for a noul."""
    instructions: str = ""
    name: str | None = None
    """OpenAI's: repeated in the answer."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """What an option is called in the reply, where that is not its name (booleans, numbers)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no answer. ``kind`` is one of the words the shapes translate; see each
    shape's ``error``."""

    status: int
    kind: str
    message: str
    place: Sequence[str | int] = ()
    """Where in the body, for a schema error."""
    code: str | int | None = None
    """A code that only some shapes have (Cloudflare's numbers, OpenAI's words)."""


class RefusedError(Exception):
    """The request is refused for this reason."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem

    @classmethod
    def at(
        cls, status: int, place: Sequence[str | int], message: str, code: str | int | None = None
    ) -> RefusedError:
        """The body is wrong at ``place``."""
        return cls(Problem(status, "schema", message, place, code))


class Shape(Interface):
    """One protocol: how it is asked, how it answers, how it fails."""

    name: str
    no_key_status: int
    wrong_key_status: int
    json_status: int
    """For a body that is not JSON."""
    default_model: str
    """Who answers when the body names no model."""

    def key(self, headers: Mapping[str, str]) -> str:
        """The key in a request's headers; empty without one."""

    def read(self, body: Any, headers: Mapping[str, str], path: Mapping[str, str]) -> tuple[Asked, ...]:
        """The questions; raises RefusedError for anything but a good request."""

    def write(self, exchange: Exchange) -> dict[str, Any]:
        """The reply's JSON from ``exchange.reply``, whatever a fault has done to it."""

    def error(self, problem: Problem) -> Any:
        """The JSON of a reply that says ``problem``."""

    def headers(self, number: int) -> dict[str, str]:
        """Headers of a reply (request ids)."""


def bearer(headers: Mapping[str, str]) -> str:
    """The token of ``Authorization: Bearer``; empty without one."""
    value = headers.get("Authorization", "")
    scheme, _, token = value.partition(" ")
    return token if scheme.lower() == "bearer" else value
