"""What was spent with a results folder: ``python -m tracking.spend``.

Reads the ledger while runs go on and changes nothing. What hosts said and what was estimated stand
apart; what nobody knows is counted in requests and is in no sum.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from beeline.errors import BeelineError
from beeline.ledger import FILE
from beeline.records import find_cells
from beeline.spend_caps import PICO, Caps, dollars
from beeline.spend_report import Spending, Spent, read_spending

__all__ = ["as_dict", "main", "text"]

_HEADINGS = ("model", "requests", "input tokens", "output tokens", "dollars")


def text(spending: Spending) -> str:
    """A table with a line a model, a second one for what is estimated, and notes below."""
    rows: list[tuple[str, ...]] = [_HEADINGS]
    shown = [*spending.models]
    if len(shown) != 1:
        shown.append(spending.total)
    for spent in shown:
        rows.append(
            (
                spent.model,
                f"{spent.requests:,}",
                _known(f"{spent.input_exact:,}", spent.input_exact, spent.unknown_input),
                _known(f"{spent.output_exact:,}", spent.output_exact, spent.unknown_output),
                _known(dollars(spent.usd_exact), spent.usd_exact, spent.unknown_cost),
            )
        )
        if spent.input_estimated or spent.output_estimated or spent.usd_estimated:
            rows.append(
                (
                    "  + estimated",
                    "",
                    f"{spent.input_estimated:,}" if spent.input_estimated else "",
                    f"{spent.output_estimated:,}" if spent.output_estimated else "",
                    dollars(spent.usd_estimated) if spent.usd_estimated else "",
                )
            )
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADINGS))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
    notes = [note for spent in spending.models for note in _notes(spent)]
    notes += [line for scope, caps in sorted(spending.caps.items()) if (line := _caps(scope, caps))]
    return "\n".join(line.rstrip() for line in [*lines, *([""] if notes else []), *notes]) + "\n"


def as_dict(spending: Spending) -> dict[str, Any]:
    """Plain data; dollars exact to the picodollar, as text so that no reader rounds them."""
    return {
        "schema": 1,
        "models": {spent.model: _numbers(spent) for spent in spending.models},
        "total": _numbers(spending.total),
        "caps": {
            ("spend" if scope == "" else f"model {scope}"): {
                "max_usd": caps.usd,
                "max_tokens": caps.tokens,
                "max_requests": caps.requests,
            }
            for scope, caps in sorted(spending.caps.items())
        },
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print; returns the exit code: 0, also when runs spent nothing; 1 when there are no runs, or the
    ledger cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m tracking.spend", description="What was spent with a results folder, by model."
    )
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: results")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    ledger = options.results / FILE
    # Only a model that is asked over a network has a ledger.
    unspent = not ledger.exists() and bool(find_cells(options.results))
    try:
        spending = Spending((), {}) if unspent else read_spending(ledger)
    except BeelineError as error:
        print(error, file=sys.stderr)
        return 1
    try:
        if options.json:
            print(json.dumps(as_dict(spending), indent=2))
        elif unspent:
            print(f"nothing was spent with {options.results}: no model of its runs was asked over a network")
        else:
            print(text(spending), end="")
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _known(shown: str, amount: int, unknown: int) -> str:
    """A sum that some requests are missing from never looks like a whole one."""
    if not unknown:
        return shown
    return f"{shown} + ?" if amount else "unknown"


def _notes(spent: Spent) -> Iterator[str]:
    def requests(count: int) -> str:
        return f"{spent.model}: {count:,} request{'s' if count != 1 else ''}"

    if spent.unknown_cost:
        yield f"{requests(spent.unknown_cost)} of unknown cost, in no sum of dollars"
    if spent.unknown_input:
        yield f"{requests(spent.unknown_input)} of unknown input tokens, in no sum of tokens"
    if spent.unknown_output:
        yield f"{requests(spent.unknown_output)} of unknown output tokens, in no sum of tokens"
    if spent.rejected:
        yield f"{requests(spent.rejected)} turned away by the host, at no cost"
    if spent.unanswered:
        yield f"{requests(spent.unanswered)} without a reply that may have been billed, estimated"
    if spent.abandoned:
        yield f"{requests(spent.abandoned)} reserved by a run that died, estimated"
    if spent.flying:
        where = f", {spent.elsewhere:,} of them from another machine" if spent.elsewhere else ""
        held = f"{spent.flying_tokens:,} tokens and {dollars(spent.flying_usd)} reserved"
        yield f"{requests(spent.flying)} on the way{where}: {held}, not in the sums above"


def _caps(scope: str, caps: Caps) -> str:
    where, prefix = ("all models", "spend") if scope == "" else (scope, "model")
    values = (("max_usd", caps.usd), ("max_tokens", caps.tokens), ("max_requests", caps.requests))
    words = [f"{prefix}.{name}={value}" for name, value in values if value is not None]
    return f"{where}: caps {', '.join(words)}" if words else ""


def _numbers(spent: Spent) -> dict[str, Any]:
    def usd(pico: int) -> str:
        return f"{pico // PICO}.{pico % PICO:012d}"

    return {
        "requests": spent.requests,
        "rejected": spent.rejected,
        "unanswered": spent.unanswered,
        "abandoned": spent.abandoned,
        "unknown": {
            "cost": spent.unknown_cost,
            "input_tokens": spent.unknown_input,
            "output_tokens": spent.unknown_output,
        },
        "input_tokens": {"exact": spent.input_exact, "estimated": spent.input_estimated},
        "output_tokens": {"exact": spent.output_exact, "estimated": spent.output_estimated},
        "usd": {"exact": usd(spent.usd_exact), "estimated": usd(spent.usd_estimated)},
        "on_the_way": {
            "requests": spent.flying,
            "tokens": spent.flying_tokens,
            "usd": usd(spent.flying_usd),
            "elsewhere": spent.elsewhere,
        },
    }


if __name__ == "__main__":
    sys.exit(main())
