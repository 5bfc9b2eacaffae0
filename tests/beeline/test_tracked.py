"""Trackers of other people: what they do not know is not asked of them, and a failure is one warning."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from beeline import tracked
from beeline.sweep_record import SweepRecord
from tests.beeline.test_sweep_record import job, sweep


class Conditions:
    """Knows no sweeps."""

    @classmethod
    def from_settings(cls, settings: dict[str, Any], results: Path) -> Conditions:
        return cls()


class Sweeps(Conditions):
    def log_sweep(self, record: SweepRecord) -> str:
        return f"kept {record.id}"


class Away(Conditions):
    def log_sweep(self, record: SweepRecord) -> str:
        raise OSError("http://me:hush@host is away")


def spec(name: str | None) -> Any:
    tracking = {} if name is None else {"name": "own", "target": f"{__name__}:{name}"}
    return SimpleNamespace(tracking=tracking, plugins=("tests",), results=Path("results"))


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracked, "_said", set())


@pytest.mark.parametrize("name", ["Conditions", None])
def test_a_tracker_may_know_no_sweeps(name: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    tracked.track_sweep(spec(name), sweep(job()))
    assert capsys.readouterr() == ("", "")


def test_where_a_sweep_is_kept_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    record = sweep(job())
    tracked.track_sweep(spec("Sweeps"), record)
    assert capsys.readouterr() == (f"kept {record.id}\n", "")


def test_a_tracker_that_fails_costs_one_warning(capsys: pytest.CaptureFixture[str]) -> None:
    tracked.track_sweep(spec("Away"), sweep(job()))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("warning: tracking failed (OSError: http://***@host is away)") == 1
    assert "python -m tracking.sync --results results" in err
