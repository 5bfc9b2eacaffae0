"""Reports of families of worlds in every format, alone and beside navigation."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from beeline.records import Record
from tests.tracking.test_report import cell, write
from tests.world_records import world_line
from tracking.report import FORMATS, main


def world(trial: int, interface: str, faults: int = 0) -> Record:
    """A world that the oracle solves; 2^70 + 1 is no double."""
    big = 2**70 + 1
    told = {"calls": 7, "spend": 5, "budget": 10, "faults": faults}
    line = world_line("toy_family", trial, interface, objective=big, optimum=big, **told)
    return Record.read(json.dumps(line))


def report(folder: Path, capsys: pytest.CaptureFixture[str], format: str) -> tuple[str, str]:
    assert main(["--results", str(folder), "--format", format]) == 0
    shown = capsys.readouterr()
    return shown.out, shown.err


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_tells_of_worlds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str
) -> None:
    write(tmp_path, [world(1, "direct"), world(2, "mediated")])
    alone, _ = report(tmp_path, capsys, format)
    assert "toy" in alone
    write(tmp_path, cell())
    together, _ = report(tmp_path, capsys, format)
    assert "toy" in together
    assert "tiles" in together


def test_rows_of_a_spreadsheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, [world(1, "direct"), world(2, "mediated")])
    write(tmp_path, cell())
    rows = list(csv.DictReader(io.StringIO(report(tmp_path, capsys, "csv")[0])))
    found = {(r["level"], r["interface"]): r for r in rows if r["domain"] == "toy_family"}
    assert list(found) == [
        ("", ""),
        ("L1", ""),
        ("", "direct"),
        ("", "mediated"),
        ("L1", "direct"),
        ("L1", "mediated"),
    ]
    assert [found[key]["worlds"] for key in found] == ["2", "2", "1", "1", "1", "1"]
    whole = found["", ""]
    assert (whole["exact"], whole["calls"], whole["budget_share"], whole["optimal"]) == (
        "1.0",
        "7.0",
        "0.5",
        "2",
    )
    assert whole["score"] == ""
    assert {r["worlds"] for r in rows if r["domain"] == "tiles"} == {""}


def test_json_holds_the_summaries_of_worlds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, [world(1, "direct")])
    data = json.loads(report(tmp_path, capsys, "json")[0])
    assert data["summaries"] == []
    (family,) = data["worlds"]
    assert family["arms"]["oracle"]["L1 direct"]["outcomes"]["optimal"] == 1


def test_alarms_of_worlds_are_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, [world(1, "direct", faults=3)])
    for format in FORMATS:
        out, err = report(tmp_path, capsys, format)
        told = " ".join((err if format == "csv" else out).split())
        assert "3 call(s) failed in the family's own code" in told
