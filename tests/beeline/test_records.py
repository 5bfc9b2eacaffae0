"""Records: what a crash, another program or another run can do to a file."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import replace
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


def test_a_container_is_in_the_line_only_where_there_is_one(path: Path) -> None:
    inside = replace(record(3), container={"image": "sha256:1", "lock": "sha256:2"})
    assert "container" not in json.loads(record(1).line())
    with RecordLog(path) as log:
        log.append([inside])
    assert read_records(path).records[2] == inside
    assert read_records(path).notes == []


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


def test_a_run_kept_out_leaves_the_other_runs_new_file_alone(tmp_path: Path) -> None:
    # The other run's file is still empty, and an empty file is otherwise removed on closing.
    path = tmp_path / "new.jsonl"
    with RecordLog(path) as log:
        with pytest.raises(StorageError, match="another run is writing"):
            RecordLog(path).__enter__()
        log.append([record(1)])
    assert read_records(path).records == [record(1)]


def test_a_file_removed_while_it_was_opened_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lock, times = tmp_path / "x.jsonl", RecordLog._lock, []

    def late_lock(self: RecordLog) -> None:
        if not times:
            path.unlink()  # another run ended between our opening and our locking
        times.append(1)
        lock(self)

    monkeypatch.setattr(RecordLog, "_lock", late_lock)
    with RecordLog(path) as log:
        log.append([record(1)])
    assert len(times) == 2
    assert read_records(path).records == [record(1)]


def test_a_log_without_a_record_leaves_no_file(tmp_path: Path) -> None:
    with RecordLog(tmp_path / "x.jsonl") as log:
        log.append([])
    assert list(tmp_path.iterdir()) == []


def test_a_newer_last_line_without_its_newline_is_not_cut_off(path: Path) -> None:
    newer = json.dumps(json.loads(record(3).line()) | {"schema": 99})
    path.write_text(newer)
    with RecordLog(path):
        pass
    assert path.read_text() == newer + "\n"


def test_lines_are_read_and_written_byte_for_byte(path: Path) -> None:
    later = record(3, later={"ä": [1, None, 0.1]}, also="\u2028")
    assert Record.read(later.line()) == later
    assert Record.read(later.line()).line() == later.line()
    with pytest.raises(ValueError, match="JSON"):
        record(4, later=float("nan")).line()


def test_a_later_line_of_a_trial_replaces_an_earlier_one(path: Path) -> None:
    with RecordLog(path) as log:
        log.append([record(1, later=2)])
    assert read_records(path).records == [record(1, later=2), record(2)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "1"}, "no schema number"),
        ({"schema": True}, "no schema number"),
        ({"trial": "3"}, "field trial"),
        ({"trial": True}, "field trial"),
        ({"arms": []}, "field arms"),
        ({"arms": {"oracle": {"score": 1.0}}}, "no expansions"),
        ({"arms": {"oracle": {"expansions": 4, "score": 0}}}, "the score 0"),
        ({"arms": {"oracle": {"expansions": 4, "score": 1.5}}}, "the score 1.5"),
        ({"container": "sha256:1"}, "container"),
        ({"container": {"image": 1}}, "container"),
    ],
)
def test_a_line_with_a_wrong_field_is_damaged(path: Path, change: dict[str, object], said: str) -> None:
    bad = json.dumps(json.loads(record(3).line()) | change)
    path.write_text(bad + "\n" + record(1).line())
    reading = read_records(path)
    assert reading.records == [record(1)]
    assert "line 1 is damaged" in reading.notes[0]
    assert said in reading.notes[0]


def test_a_missing_file_holds_nothing_and_a_folder_is_refused(tmp_path: Path) -> None:
    assert read_records(tmp_path / "none.jsonl").records == []
    with pytest.raises(StorageError, match="cannot read"):
        read_records(tmp_path)
    with pytest.raises(StorageError, match="cannot write"), RecordLog(tmp_path):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into any folder")
def test_a_read_only_folder_is_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StorageError, match="choose a folder"), RecordLog(tmp_path / "x.jsonl"):
            pass
    finally:
        tmp_path.chmod(0o700)


def test_no_space_says_so(tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    log = RecordLog(tmp_path / "x.jsonl")
    with log:
        assert log._file is not None
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, log._file)
        os.close(full)
        with pytest.raises(StorageError, match="no space left"):
            log.append([record(1)])
