"""study=agreement: the questions are those that were asked, and planted agreement comes back."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from beeline.archive import asked
from beeline.errors import StorageError
from beeline.lines import read_lines
from beeline.records import Cell
from beeline.trace import read_trace
from studies.agreement import conclude, traced_items
from studies.trials import open_trial
from tests.commands import beeline
from tests.plans import plan
from tests.studies.runs import copied, two_models

CELL = Cell("1.0.0", "sparrow", "score", "countdown", "benchmark")


def test_the_questions_are_those_in_the_archive() -> None:
    made, results = plan("countdown", "1.0.0"), two_models() / "results"
    trace = CELL.trace_path(results, 2, 1)
    header, lines = read_trace(trace)
    _, kept = read_lines(CELL.archive_path(results, 2, 1), "archive")
    items = traced_items(made, open_trial(made, 2), 2, header["model_id"], lines, 2_500, trace)
    assert [asked(item.question) for item in items] == [line["asked"] for line in kept]
    few = traced_items(made, open_trial(made, 2), 2, header["model_id"], lines, 5, trace)
    assert len(few) == 5
    assert {item.digest for item in few} < {item.digest for item in items}
    for item in items:
        picked = item.facts["order"].index(item.facts["picked"])
        assert item.question.options[picked] == lines[item.facts["step"] - 1]["state"]


def test_a_trace_of_another_search_is_refused() -> None:
    made, results = plan("countdown", "1.0.0"), two_models() / "results"
    trace = CELL.trace_path(results, 2, 1)
    header, lines = read_trace(trace)
    with pytest.raises(StorageError, match="not of the search that this version makes"):
        traced_items(made, open_trial(made, 3), 3, header["model_id"], lines, 5, trace)
    with pytest.raises(StorageError, match="ends before its search does"):
        traced_items(made, open_trial(made, 2), 2, header["model_id"], lines[:5], 5, trace)


def lines_of(seed: int, alike: float) -> list[dict[str, Any]]:
    """30 trials of 8 questions of 5 options: ``alike`` of the picks are copied, the others drawn."""
    draw = random.Random(seed)
    found = []
    for trial in range(30):
        for _ in range(8):
            theirs = draw.randrange(5)
            pick = theirs if draw.random() < alike else draw.randrange(5)
            weights = [0.1] * 5
            order = draw.sample(range(5), 5)
            weights[order.index(pick)] = 0.6
            found.append(
                {"trial": trial, "problem": None, "weights": weights, "order": order, "picked": theirs}
                | {"nearest": [0]}
            )
    return found


@pytest.mark.parametrize("alike", [0.0, 0.4])
def test_planted_agreement_comes_back(alike: float) -> None:
    share = over = 0
    for seed in range(100):
        found = conclude(lines_of(seed, alike), "tiles", "a", "b", "1.0.0").data["measures"]
        share += found["same pick"]["low"] <= alike + (1 - alike) / 5 <= found["same pick"]["high"]
        chance = found["same pick over chance"]
        over += chance["low"] <= alike <= chance["high"]
    assert min(share, over) >= 93


def test_ties_go_to_the_first_found() -> None:
    (line,) = lines_of(0, 1.0)[:1]
    line |= {"weights": [0.4, 0.4, 0.1, 0.1, 0.0], "order": [3, 1, 0, 2, 4], "picked": 1}
    found = conclude([line, {**line, "problem": "refused"}], "tiles", "a", "b", "1.0.0")
    assert found.data["measures"]["same pick"]["value"] == 1
    assert found.notes == ["1 of 2 answers were unusable and are left out."]


def test_commands(tmp_path: Path) -> None:
    copied(tmp_path)
    run = ("domain=countdown", "model=sparrow", "study=agreement", "study.questions=4")
    itself = beeline(tmp_path, *run, "study.of=sparrow")
    assert itself.returncode == 0, itself.stderr
    assert "sparrow picks what sparrow took in 1.00" in " ".join(itself.stdout.split())
    log = tmp_path / "results/questions/1.0.0/sparrow/agreement/countdown.of-sparrow.jsonl"
    assert len(log.read_text().splitlines()) == 8 * 4
    other = beeline(tmp_path, *run, "study.of=first_option")
    assert "sparrow picks what first_option took in 0.0" in " ".join(other.stdout.split())
    assert "study.of is not set" in beeline(tmp_path, *run).stderr
    nobody = beeline(tmp_path, *run, "study.of=jev")
    assert "there are no traced questions of jev on countdown" in nobody.stderr
