"""What a run is resumed with, against what its kept records were made with.

The settings that decide what a trial is are compared elsewhere, by digest. This compares what is
left: the words and order of a condition, which must be the same, and the model's settings, of which
some (another host, another temperature) may change answers and others (prices, waits) may not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beeline.digest import differences
from beeline.errors import SettingError

__all__ = ["check_resumed"]

#: Settings of a model that change what asking takes and costs, not what is answered.
_OF_NO_ACCOUNT = frozenset(
    [
        "label",
        "publish",
        "concurrency",
        "requests_per_minute",
        "tokens_per_minute",
        "timeout_s",
        "patience_s",
        "retries",
        "price_input",
        "price_output",
        "price_date",
        "price_source",
        "max_usd",
        "max_tokens",
        "max_requests",
        "key_variable",
        "account_variable",
        "batch",
        "batch_tokens",
        "wait_s",
        "memory_gb",
        "download",
    ]
)


def check_resumed(saved: Path, now: Mapping[str, Any], condition: str) -> str | None:
    """Compare the spec saved beside kept records with the one of this run; None, or a note for
    whoever resumes. A file that is absent or damaged says nothing.

    Raises SettingError when the condition of that name was another one.
    """
    try:
        before = json.loads(saved.read_text("utf-8"))
        model = dict(before.get("model") or {})
        theirs = _named(before.get("conditions"), condition)
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    # As it was written: tuples are lists there.
    now = json.loads(json.dumps(dict(now), default=str))
    mine = _named(now.get("conditions"), condition)
    if theirs is not None and mine is not None:
        changed = [*differences(_decisive(theirs), _decisive(mine))]
        if changed:
            raise SettingError(
                f"{saved.name} says that the kept records of condition {condition} were made with other "
                f"settings ({_listed(changed)}): name this one otherwise, or choose another folder with "
                "results=DIR"
            )
    changed = [
        line
        for line in differences(model, dict(now.get("model") or {}))
        if line.partition(":")[0].partition(".")[0] not in _OF_NO_ACCOUNT
    ]
    if not changed:
        return None
    return f"kept records were made with other settings of the model ({_listed(changed)})"


def _named(conditions: Any, name: str) -> dict[str, Any] | None:
    return next((dict(one) for one in conditions or () if one.get("name") == name), None)


def _decisive(condition: dict[str, Any]) -> dict[str, Any]:
    """More repeats of the same are no other condition."""
    return {key: value for key, value in condition.items() if key != "repeats"}


def _listed(changed: list[str]) -> str:
    shown = [line if len(line) <= 160 else f"{line[:157]}..." for line in changed[:3]]
    more = f"; {len(changed) - 3} more" if len(changed) > 3 else ""
    return "; ".join(shown) + more
