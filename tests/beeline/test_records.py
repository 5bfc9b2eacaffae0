"""Records: what a crash, another program or another run can do to a file."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from beeline.errors import StorageError
from beeline.records import Record, RecordLog, read_records
from tests.shared import ROOT


def record(trial: int, **extra: object) -> Record:
    arms = {"oracle": {"expansions": 4, "solved": True, "path_length": 3, "score": 1.0, "path_score": 1.0}}
    return Record(
        version="1.0.0",
        definition="d",
        spec="s",
        suite="navigation",
        domain="tiles",
        heuristic="manhattan",
        model="none",
        model_id=None,
        study="baseline",
        condition="benchmark",
        trial=trial,
        repeat=1,
        shortest_path=3,
        states_reachable=9,
        states_reaching_goal=9,
        arms=arms,
        started_utc="a",
        finished_utc="b",
        code="c",
        extra=extra,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a" / "tiles.benchmark.jsonl"
    with RecordLog(path) as log:
        log.append([record(1), record(2)])
    return path


def test_round_trip_keeps_unknown_fields(path: Path) -> None:
    with RecordLog(path) as log:
        log.append([record(3, later={"x": 1})])
    reading = read_records(path)
    assert reading.records == [record(1), record(2), record(3, later={"x": 1})]
    assert any("unknown field 'later'" in note for note in reading.notes)


@pytest.mark.parametrize("cut", [1, 5, 100])
def test_a_torn_last_line_is_cut_off_and_owed(path: Path, cut: int) -> None:
    path.write_bytes(path.read_bytes()[:-cut])
    whole = cut == 1  # only the newline is gone
    assert [r.trial for r in read_records(path).records] == ([1, 2] if whole else [1])
    with RecordLog(path) as log:
        log.append([record(3)])
    reading = read_records(path)
    assert [r.trial for r in reading.records] == ([1, 2, 3] if whole else [1, 3])
    assert reading.notes == []


def test_a_damaged_line_is_named(path: Path) -> None:
    first, second, _ = path.read_text().split("\n")
    path.write_text(first[:50] + "\n" + second + "\n")
    reading = read_records(path)
    assert [r.trial for r in reading.records] == [2]
    assert "line 1 is damaged" in reading.notes[0]


def test_a_newer_schema_is_refused(path: Path) -> None:
    data = json.loads(record(3).line()) | {"schema": 99}
    path.write_text(json.dumps(data) + "\n")
    with pytest.raises(StorageError, match="newer beeline"):
        read_records(path)


def test_another_run_is_kept_out(path: Path) -> None:
    code = (
        f"from beeline.records import *; from pathlib import Path\nRecordLog(Path({str(path)!r})).__enter__()"
    )
    with RecordLog(path):
        other = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "another run is writing" in other.stderr


def test_a_full_disk_keeps_whole_lines_only(path: Path) -> None:
    size = path.stat().st_size
    code = (
        "import resource, signal; from pathlib import Path\n"
        "from beeline.records import RecordLog\nfrom tests.beeline.test_records import record\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size + 100}, {resource.RLIM_INFINITY}))\n"
        f"with RecordLog(Path({str(path)!r})) as log:\n    log.append([record(3)])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "what was finished before is kept" in run.stderr
    assert path.stat().st_size == size
    assert [r.trial for r in read_records(path).records] == [1, 2]


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="choose a folder"), RecordLog(tmp_path / "file" / "x.jsonl"):
        pass
