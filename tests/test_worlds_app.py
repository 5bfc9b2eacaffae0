"""The worlds suite through the command line: records, tables, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from beeline.records import Record, read_records
from beeline.world_summary import summarise_worlds
from tests.commands import beeline
from tests.world_records import world_line

NAME = Path("results", "1.0.0", "none", "baseline", "transit_routing.benchmark.jsonl")
RUN = ("domain=transit_routing", "study=baseline")


def test_a_family_runs_resumes_and_is_summarised(tmp_path: Path) -> None:
    run = beeline(tmp_path, *RUN, "trials=4")
    assert run.returncode == 0, run.stderr
    assert "transit_routing · worlds · 4 worlds · version 1.0.0" in run.stdout
    before = (tmp_path / NAME).read_text("utf-8")
    records = read_records(tmp_path / NAME).records
    assert [record.trial for record in records] == [1, 2, 3, 4]
    ids = [record.world for record in records]
    assert ids == [
        f"worlds/transit_routing/L1/instance-{i}/{side}" for i in (1, 2) for side in ("direct", "mediated")
    ]
    for record in records:
        assert record.arms["oracle"]["exact"] is True
        assert record.arms["oracle"]["objective"] == record.arms["oracle"]["optimum"]
        assert record.arms["heuristic"]["objective"] == record.arms["heuristic"]["reference"]
        assert record.arms["random"]["feasible"] is True
        assert Record.read(record.line()).line() == record.line()
        assert "shortest_path" not in json.loads(record.line())
    summary = summarise_worlds(records)
    assert summary.arms["oracle"]["all"].utility == 100.0
    assert summary.arms["heuristic"]["L1 direct"].utility == 0.0
    assert summary.arms["random"]["all"].coverage == 0.0
    again = beeline(tmp_path, *RUN, "trials=4")
    assert again.returncode == 0
    assert (tmp_path / NAME).read_text("utf-8") == before


def test_big_objectives_stay_integers() -> None:
    line = world_line("f", objective=10**40 + 1, optimum=10**40 + 1)
    record = Record.read(json.dumps(line))
    assert record.arms["oracle"]["objective"] == 10**40 + 1
    assert str(10**40 + 1) in record.line()
    for name, value in (("exact", 1), ("objective", 1.5), ("spend", True), ("outcome", None)):
        bad = json.loads(json.dumps(line))
        bad["arms"]["oracle"][name] = value
        with pytest.raises(ValueError, match=name):
            Record.read(json.dumps(bad))


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["trials=25"], ["trials=25", "1 to 24"]),
        (["study=score"], ["sparrow", "navigation", "worlds"]),
        (["version=2.0.0"], ["2.0.0 defines no worlds", "version=1.0.0"]),
        (["version.worlds.transit_routing.edition=2"], ["edition: 1 -> 2", "custom=NAME"]),
    ],
)
def test_what_a_family_cannot_do_is_one_sentence(
    tmp_path: Path, overrides: list[str], words: list[str]
) -> None:
    run = beeline(tmp_path, *RUN, *overrides)
    assert run.returncode == 2, run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in run.stderr
