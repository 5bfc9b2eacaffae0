#!/usr/bin/env python3
"""Whether two results folders hold the same: ``python docker/same_records.py ONE OTHER``.

Compared are the definitions, the specs, every record and every trace, whatever the order in which
trials ended (not the archive of replies). Left out is what two runs of the same code may differ in:
when a trial ran, how long answers took, the program's revision, and the container it ran in. Exit
code 0 when all is the same, 1 when something differs (said with its place), 2 when a folder cannot
be read.

Needs nothing but Python, so that it can judge an image from outside.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["differing", "main"]

RECORD_TIMES = ("started_utc", "finished_utc", "code", "container")
"""Of a record: when, by which revision and in which container it was made."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print what differs, or how much is the same."""
    parser = argparse.ArgumentParser(prog="same_records", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("one", type=Path)
    parser.add_argument("other", type=Path)
    options = parser.parse_args(argv)
    try:
        one, other = _contents(options.one), _contents(options.other)
        if not any(name.endswith(".jsonl") for name in one):
            raise ValueError(
                f"{options.one} holds no records: run a benchmark with results={options.one} first"
            )
    except (OSError, ValueError) as error:
        print(f"same_records: {error}", file=sys.stderr)
        return 2
    found = list(differing(one, other))
    for line in found[:20]:
        print(line)
    if found:
        print(f"DIFFERENT in {len(found)} places")
        return 1
    records = sum(len(content) for name, content in one.items() if name.endswith(".jsonl"))
    traces = sum(name.endswith(".gz") for name in one)
    others = sum(name.endswith(".json") for name in one)
    print(f"same: {records} records, {traces} traces, {others} specs and definitions")
    return 0


def differing(one: Any, other: Any, where: str = "") -> Iterator[str]:
    """One line for each place in which two JSON values differ; 1 and 1.0 do, as their digests would."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            place = f"{where} {key}".strip()
            if key not in one or key not in other:
                yield f"{place}: only in the {'first' if key in one else 'second'}"
            else:
                yield from differing(one[key], other[key], place)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            yield from differing(*pair, f"{where}[{index}]")
    elif type(one) is not type(other) or one != other:
        yield f"{where}: {json.dumps(one)[:80]} and {json.dumps(other)[:80]}"


def _contents(folder: Path) -> dict[str, Any]:
    """What a results folder holds, by relative path, times left out. Records by (trial, repeat):
    a later line replaces an earlier one."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder")
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or name.startswith(("mlartifacts/", "sweeps/", "archive/")):
            continue
        if name.startswith("traces/"):
            lines = gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()
            found[name] = [_trace_line(json.loads(line)) for line in lines]
        elif path.name.endswith(".jsonl"):
            records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            found[name] = {f"trial {r['trial']} repeat {r['repeat']}": _record(r) for r in records}
        elif path.suffix == ".json":
            found[name] = json.loads(path.read_text("utf-8"))
    return found


def _record(record: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in record.items() if key not in RECORD_TIMES}
    kept["arms"] = {
        arm: {key: value for key, value in result.items() if key != "latency_ms"}
        for arm, result in record["arms"].items()
    }
    # How many answers were timed is no time.
    for arm, result in record["arms"].items():
        if "latency_ms" in result:
            kept["arms"][arm]["timed"] = result["latency_ms"]["count"]
    return kept


def _trace_line(line: dict[str, Any]) -> dict[str, Any]:
    if "replies" not in line:
        return line
    replies = [{key: value for key, value in reply.items() if key != "seconds"} for reply in line["replies"]]
    return {**line, "replies": replies}


if __name__ == "__main__":
    sys.exit(main())
