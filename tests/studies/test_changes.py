"""Decisions that change: counted up to the first that differs; planted shares come back."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beeline.errors import StorageError
from beeline.lines import compact, write_lines
from beeline.records import Cell
from beeline.statistics.shares import wilson
from studies.changes import Changes, changed_share, compare_paths, compare_traces, share_of


def step(chosen: int, forced: bool = False, fallback: bool = False, order: tuple[int, ...] = (0, 1)) -> dict:
    if forced:
        return {"forced": True, "chosen": 0}
    return {"forced": False, "chosen": chosen, "fallback": fallback, "order": list(order)}


START = step(0, forced=True)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([START], [START], Changes()),
        ([START, step(1), step(0)], [START, step(1), step(0)], Changes(2, 0, 1, 0)),
        # After the first that differs nothing can be compared, however alike it looks.
        ([START, step(1), step(0), step(1)], [START, step(1), step(1), step(1)], Changes(2, 1, 1, 0)),
        ([START, step(1), step(0)], [START, step(0), step(0)], Changes(1, 1, 1, 1)),
        # One trace is a part of the other: what both have is compared.
        ([START, step(1)], [START, step(1), step(0)], Changes(1, 0, 1, 0)),
        # A fallback is no decision, and may lead elsewhere.
        ([START, step(1, fallback=True), step(0)], [START, step(1), step(1)], Changes(1, 1, 1, 1)),
        ([START, step(1, fallback=True), step(0)], [START, step(0), step(1)], Changes()),
        ([START, step(1), START, step(0)], [START, step(1), START, step(1)], Changes(2, 1, 1, 0)),
    ],
)
def test_traces_side_by_side(ours: list, theirs: list, expected: Changes) -> None:
    assert compare_paths(ours, theirs, True) == expected
    assert compare_paths(theirs, ours, True) == expected
    assert compare_paths(iter(ours), iter(theirs), False) == expected


def test_another_order_is_another_question() -> None:
    ours = [step(1), step(0), step(1)]
    theirs = [step(1), step(0, order=(1, 0)), step(0)]
    assert compare_paths(ours, theirs, True) == Changes(1, 0, 1, 0)
    assert compare_paths(ours, theirs, False) == Changes(3, 1, 1, 0)


@pytest.mark.parametrize(("share", "decisions"), [(0.001, 200), (0.05, 30), (0.3, 30)])
def test_a_planted_share_comes_back(share: float, decisions: int) -> None:
    """50 trials, each decision changed with the same chance until one is."""
    held = first = 0
    for seed in range(200):
        until = np.random.RandomState(seed).geometric(share, 50)
        by_trial = {
            trial: Changes(min(n, decisions), int(n <= decisions), 1, int(n == 1))
            for trial, n in enumerate(until.tolist(), start=1)
        }
        every, opening = share_of(by_trial), share_of(by_trial, first=True)
        assert every is not None
        assert opening is not None
        held += every.low <= share <= every.high
        first += opening.low <= share <= opening.high
    assert min(held, first) >= 186  # 93 of each 100


def test_no_change_is_found_where_there_is_none() -> None:
    found = share_of({trial: Changes(20, 0, 1, 0) for trial in range(40)})
    assert found is not None
    assert (found.value, found.low) == (0, 0)
    # One change in all has a higher bound, not a lower one.
    one = share_of({trial: Changes(20, int(trial == 0), 1, 0) for trial in range(40)})
    assert one is not None
    assert 0 < found.high < one.high < 0.01
    assert found.high == pytest.approx(wilson(0, 40).high / 20)
    thrice = share_of({trial: Changes(60, 0, 3, 0) for trial in range(40)})
    assert thrice == found
    assert share_of({}) is None
    assert share_of({1: Changes()}) is None


OURS, THEIRS = (Cell("1.0.0", "m", "s", "tiles", condition) for condition in ("benchmark", "found"))


def put(folder: Path, cell: Cell, trial: int, repeat: int, lines: list[dict[str, Any]]) -> Path:
    path = cell.trace_path(folder, trial, repeat)
    write_lines(path, {"schema": 1}, [compact(line) for line in lines], "trace")
    return path


def test_shares_from_files(tmp_path: Path) -> None:
    for trial, repeat, other in ((1, 1, 0), (1, 2, 1), (2, 1, 1)):
        put(tmp_path, OURS, trial, repeat, [START, step(1), step(1)])
        put(tmp_path, THEIRS, trial, repeat, [START, step(1), step(other)])
    put(tmp_path, OURS, 3, 1, [START, step(1)])  # the other has no trace of it
    keys = [(1, 1), (1, 2), (2, 1), (3, 1)]
    found = changed_share(tmp_path, OURS, THEIRS, keys)
    assert found is not None
    assert found.value == pytest.approx(1 / 6)
    assert changed_share(tmp_path, OURS, THEIRS, [(3, 1)]) is None
    assert changed_share(tmp_path / "elsewhere", OURS, THEIRS, keys) is None


def test_files_are_read_as_far_as_needed(tmp_path: Path) -> None:
    one = put(tmp_path, OURS, 1, 1, [step(1), step(1)])
    other = put(tmp_path, THEIRS, 1, 1, [step(0)])
    with gzip.open(one, "ab") as file:
        file.write(b"not json\n")
    assert compare_traces(one, other, True) == Changes(1, 1, 1, 1)


@pytest.mark.parametrize(
    "damage",
    [b"", b"no gzip", gzip.compress(b""), gzip.compress(b"{}\n{torn"), gzip.compress(b"{}\n" * 9)[:-9]],
    ids=["empty", "no gzip", "nothing", "torn line", "torn file"],
)
def test_a_damaged_trace_is_named(tmp_path: Path, damage: bytes) -> None:
    one = put(tmp_path, OURS, 1, 1, [step(1), step(1)])
    other = put(tmp_path, THEIRS, 1, 1, [step(1), step(1)])
    other.write_bytes(damage)
    with pytest.raises(StorageError, match=r"^cannot read the trace .*found.1\.1\.jsonl\.gz: .") as error:
        compare_traces(one, other, True)
    assert "\n" not in str(error.value)
