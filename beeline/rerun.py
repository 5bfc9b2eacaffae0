"""Which finished trials a run does again (``rerun=``), and which of the two results stays.

* ``unclean``: trials with refusals, invalid answers or retries. The new result stays only when it
  has fewer of them: the score has no say, so that nobody draws until a score pleases.
* ``untraced``: trials of a model whose trace is missing. The new result stays, since a trace and a record of
  different searches would contradict each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from beeline.records import Record

__all__ = ["RERUNS", "again_owed", "keep_new", "uncleanness"]

RERUNS = ("unclean", "untraced")

_UNCLEAN = ("refusals", "invalid_answers", "retries")


def uncleanness(record: Record) -> int:
    """Refusals, invalid answers and retries of the model arm, together; 0 without one."""
    arm = record.arms.get("model", {})
    return sum(int(arm.get(name) or 0) for name in _UNCLEAN)


def again_owed(rerun: str | None, results: Path, records: Sequence[Record]) -> set[tuple[int, int]]:
    """Keys of the records to run again."""
    if rerun == "unclean":
        return {record.key for record in records if uncleanness(record)}
    if rerun == "untraced":
        # Without a model nothing was traced, and nothing would be.
        asked = [record for record in records if "model" in record.arms]
        return {r.key for r in asked if not r.cell.trace_path(results, *r.key).is_file()}
    return set()


def keep_new(rerun: str | None, old: Record, new: Record) -> bool:
    """Whether the result of a rerun replaces the record there was."""
    return rerun != "unclean" or uncleanness(new) < uncleanness(old)
