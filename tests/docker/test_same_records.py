"""docker/same_records.py: finds every difference but times."""

from __future__ import annotations

import copy
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commands import beeline
from tests.shared import ROOT

CELL = "1.0.0/sparrow/score/countdown.benchmark"
RECORDS: list[dict[str, Any]] = [
    {
        "trial": trial,
        "repeat": 1,
        "arms": {
            "oracle": {"expansions": 4, "score": 1.0},
            "model": {"expansions": 7 + trial, "score": 0.5, "latency_ms": {"count": 3, "total": 9.5}},
        },
        "started_utc": "2026-12-01T10:00:00.000Z",
        "finished_utc": "2026-12-01T10:00:01.000Z",
        "code": "0.1.0",
    }
    for trial in (1, 2)
]
TRACE: list[dict[str, Any]] = [
    {"trial": 1, "shortest_path": 3},
    {"step": 1, "forced": True, "chosen": 0},
    {"step": 2, "chosen": 4, "replies": [{"seconds": 0.25, "retries": 0}]},
]


def written(folder: Path, records: list[dict[str, Any]], trace: list[dict[str, Any]]) -> Path:
    path = folder / f"{CELL}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    path.with_suffix(".spec.json").write_text('{"study": "score"}')
    traced = folder / "traces" / CELL / "1.1.jsonl.gz"
    traced.parent.mkdir(parents=True)
    with gzip.open(traced, "wt") as file:
        file.writelines(json.dumps(line) + "\n" for line in trace)
    (folder / "mlflow.db").write_bytes(b"not compared")
    return folder


def compared(one: Path, other: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docker/same_records.py"), str(one), str(other)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return written(tmp_path / "one", RECORDS, TRACE)


def test_times_revision_container_and_order_are_left_out(one: Path, tmp_path: Path) -> None:
    records, trace = copy.deepcopy(RECORDS), copy.deepcopy(TRACE)
    for record in records:
        record["started_utc"] = record["finished_utc"] = "later"
        record["code"] = "0.1.0+abc"
        record["container"] = {"image": "sha256:1", "lock": "sha256:2"}
        record["arms"]["model"]["latency_ms"]["total"] = 11.25
    trace[2]["replies"][0]["seconds"] = 0.5
    # A later line for the same trial replaces an earlier one.
    outdated = copy.deepcopy(records[0])
    outdated["arms"]["model"]["expansions"] = 99
    other = written(tmp_path / "other", [outdated, *records[::-1]], trace)
    assert compared(one, other) == (0, "same: 2 records, 1 traces, 1 specs and definitions\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda r, t: r[1]["arms"]["model"].update(expansions=10),
            "trial 2 repeat 1 arms model expansions: 9 and 10",
        ),
        (
            lambda r, t: r[0]["arms"]["oracle"].update(score=1),
            "trial 1 repeat 1 arms oracle score: 1.0 and 1",
        ),
        (lambda r, t: r.pop(), "trial 2 repeat 1: only in the first"),
        (lambda r, t: r[0].update(world="w"), "trial 1 repeat 1 world: only in the second"),
        (lambda r, t: r[0]["arms"]["model"]["latency_ms"].update(count=4), "arms model timed: 3 and 4"),
        (lambda r, t: t[2].update(chosen=5), "1.1.jsonl.gz[2] chosen: 4 and 5"),
        (lambda r, t: t[2]["replies"][0].update(retries=1), "[2] replies[0] retries: 0 and 1"),
        (lambda r, t: t.pop(), "1.1.jsonl.gz: "),
    ],
)
def test_any_other_difference_is_named(one: Path, tmp_path: Path, change: Any, said: str) -> None:
    records, trace = copy.deepcopy(RECORDS), copy.deepcopy(TRACE)
    change(records, trace)
    code, text = compared(one, written(tmp_path / "other", records, trace))
    assert code == 1
    assert said in text
    assert text.endswith("DIFFERENT in 1 places\n")


def test_a_missing_trace_is_a_difference(one: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other", RECORDS, TRACE)
    (other / "traces" / CELL / "1.1.jsonl.gz").unlink()
    assert compared(one, other)[0] == 1


@pytest.mark.parametrize("break_", ["absent", "empty", "torn"])
def test_what_cannot_be_compared_is_said(one: Path, tmp_path: Path, break_: str) -> None:
    other = tmp_path / "other"
    if break_ == "empty":
        other.mkdir()
    if break_ == "torn":
        written(other, RECORDS, TRACE)
        (other / f"{CELL}.jsonl").write_text('{"trial": 1')
    code, text = compared(other, one)
    assert code == 2
    assert text.startswith("same_records: ")
    assert "Traceback" not in text


def test_two_runs_of_one_program_are_the_same(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        beeline(tmp_path / name, "domain=countdown", "model=first_option", "trials=2").check_returncode()
    one, other = tmp_path / "one" / "results", tmp_path / "other" / "results"
    assert compared(one, other) == (0, "same: 2 records, 2 traces, 2 specs and definitions\n")
