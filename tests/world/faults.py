"""What beeline does under each fault of jevcompat's mock; ``docs/world.md`` shows it as a table.

A fault either leaves the search as it is without the fault, changes it in a way nobody can see from
outside (the model answers otherwise), is counted, or stops the run with a sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Effect = Literal["none", "other answers", "counted", "stops"]


@dataclass(frozen=True)
class Expected:
    """For one fault."""

    effect: Effect
    told: str
    """For the table; for ``stops`` a part of the message, for ``counted`` a key of COUNTED."""
    domain: str = "countdown"
    key: Literal["", "right", "wrong"] = ""
    """The key that we send; the mock wants "right" where ``keyed``."""
    keyed: bool = False


def _none(why: str) -> Expected:
    return Expected("none", why)


_TYPE = _none("only choice questions are asked")
_EXTRA = _none("other answers and fields are not read")
_CONFIDENCE = _none("its confidence is not read")
_NOT_ASKED = _none("no such request is sent")

FAULTS: dict[str, Expected] = {
    "wrong-route": Expected("stops", "404 Not Found: No route /v1/systemone"),
    "xssi-200": Expected("stops", "not one of the first 10 answers of the model was usable"),
    "plain-content-type": _none("a body that is JSON is read whatever it is called"),
    "text-errors": _none("no request of ours is wrong"),
    "models-404": _none("the list of models is not asked for"),
    "auth-rejects-header": Expected("stops", "401 Unauthorized: This server takes no key", key="right"),
    "auth-x-api-key": Expected("stops", "403 Forbidden: Must supply an API key", key="right", keyed=True),
    "auth-plain": Expected("stops", "The host wants a key", keyed=True),
    "auth-invalid-403-text": Expected("stops", "401 Unauthorized: bad key", key="wrong", keyed=True),
    "reject-array-state": _none("the state is an object"),
    "reject-jev-latest": Expected("stops", "404 Not Found: Model not served: jev-latest"),
    "first-question-only": _none("one question a request"),
    "strict-ids": _none("the id is choose"),
    "nfd-keys": _none("names are compared byte for byte, and those of these domains have no other form"),
    "forbid-extra": _none("no unknown field is sent"),
    "string-only-text": _none("instructions are a string"),
    "noul-two-sided": _TYPE,
    "noul-needs-instructions": _TYPE,
    "no-null-description": Expected("stops", "422 Unprocessable Entity: body.questions.choose"),
    "cap-64": Expected("stops", "should have at most 64 items", domain="rush_hour"),
    "cap-5-levels": _TYPE,
    "accept-map-score": _TYPE,
    "no-usage": Expected("counted", "unknown usage"),
    "float-usage": _none("whole numbers written as floats are read"),
    "extra-answer": Expected("counted", "more output"),
    "boolean-type": _TYPE,
    "nan": _EXTRA,
    "unprefixed-extra": _EXTRA,
    "noul-range": _TYPE,
    "choice-no-confidence": _CONFIDENCE,
    "choice-key-case": Expected("stops", "none of the shown options named", domain="rush_hour"),
    "choice-sum": _none("any sum is accepted, and the order of the options is the same"),
    "choice-second": Expected("counted", "disagreements"),
    "score-no-legend": _TYPE,
    "legend-1-based": _TYPE,
    "score-keys-1-based": _TYPE,
    "score-sum": _TYPE,
    "score-argmax": _TYPE,
    "confidence-over": _CONFIDENCE,
    "confidence-margin": _CONFIDENCE,
    "500-on-unknown-type": _NOT_ASKED,
    "accept-boolean": _NOT_ASKED,
    "validation-400": _NOT_ASKED,
    "error-flat": _NOT_ASKED,
    "id-leaks": Expected("other answers", "the id feeds the model; it is always choose"),
    "batch-leaks": Expected("other answers", "the number of questions feeds the model; it is always 1"),
    "order-leaks": Expected("other answers", "a question's position feeds the model; it is always the first"),
}


@dataclass(frozen=True)
class Counted:
    """Fields of the model arm that change, each to what from what it was, and all others do not."""

    fields: dict[str, Callable[[dict[str, Any]], Any]]
    told: str


COUNTED = {
    "unknown usage": Counted(
        {"input_tokens": lambda arm: None, "output_tokens": lambda arm: None},
        "the same search; tokens are unknown and not 0, and the cap counts an estimate",
    ),
    "disagreements": Counted(
        {"disagreements": lambda arm: arm["requests"]},
        "the same search; the reply's own choice is not followed, and each difference is counted",
    ),
    "more output": Counted(
        {"output_tokens": lambda arm: 2 * arm["output_tokens"]},
        "the same search: other answers are not read; the tokens it says it made for them are counted",
    ),
}


def rows() -> str:
    """The table's rows in Markdown, as ``docs/world.md`` holds them."""
    lines = []
    for fault, expected in FAULTS.items():
        if expected.effect == "stops":
            said = f"the run stops: \u201c{expected.told}\u201d"
        elif expected.effect == "counted":
            said = COUNTED[expected.told].told
        elif expected.effect == "none":
            said = f"the same search: {expected.told}"
        else:
            said = f"a whole search of other answers: {expected.told}"
        lines.append(f"| `{fault}` | {said} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(rows(), end="")
