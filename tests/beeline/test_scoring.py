"""Summaries of cells: scores, intervals and their draws paths, shares, usage."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from beeline.arms import path_score
from beeline.errors import StorageError
from beeline.records import Record
from beeline.scoring import overall, summarise
from beeline.statistics import geometric_interval, mean_interval, overall_interval
from tests.shared import shared_folder

USAGE: dict[str, Any] = {
    "requests": 4,
    "input_tokens": 100,
    "output_tokens": 7,
    "cost_usd": 0.25,
    "refusals": 1,
    "fallbacks": 0,
    "invalid_answers": 2,
    "retries": 3,
    "ties": 1,
    "disagreements": 0,
    "latency_ms": {"count": 4, "total": 40.0, "buckets": {"24": 3, "48": 1}},
    "served_models": {"m-1": 4},
}


def result(score: float, solved: bool = True, **more: Any) -> dict[str, Any]:
    length = 8 if solved else None
    return {
        "expansions": 10,
        "solved": solved,
        "path_length": length,
        "score": score,
        "path_score": path_score(4, length),
    } | more


def choices(decisions: int, optimal: int, regret: int, dead_ends: int) -> dict[str, int]:
    counts = {"decisions": decisions, "optimal": optimal, "regret": regret, "dead_ends": dead_ends}
    return counts | {"contested": 0, "on_path": 0}


def record(trial: int, arms: dict[str, Any], **more: Any) -> Record:
    fields: dict[str, Any] = {
        "version": "1.0.0",
        "definition": "d",
        "spec": "s",
        "suite": "navigation",
        "domain": "tiles",
        "heuristic": "manhattan",
        "model": "sparrow",
        "model_id": "sparrow-1",
        "study": "score",
        "condition": "benchmark",
        "trial": trial,
        "repeat": 1,
        "shortest_path": 4,
        "states_reachable": 9,
        "states_reaching_goal": 9,
        "arms": arms,
        "started_utc": "2026-01-01T00:00:00Z",
        "finished_utc": "2026-01-01T00:00:02.5Z",
        "code": "c",
    }
    return Record(**(fields | more))


def test_published_example_of_word_ladder() -> None:
    data = json.loads(shared_folder("data", "conformance", "word_ladder.json").read_text())
    records = []
    for trial in data["trials"][:40]:
        arm = trial["heuristic"]
        charged = arm["expansions"] if arm["solved"] else 2500
        fields = arm | {"score": (trial["shortest_path"] + 1) / charged}
        fields["path_score"] = path_score(trial["shortest_path"], arm["path_length"])
        records.append(
            record(trial["trial"], {"heuristic": fields}, domain="word_ladder", heuristic="letters_different")
        )
    score = summarise(records).arms["heuristic"].score
    assert score.value == pytest.approx(0.30469703757960, abs=1e-12)
    assert score.low == pytest.approx(0.22920658096698, abs=1e-12)
    assert score.high == pytest.approx(0.39233346949569, abs=1e-12)


@pytest.mark.parametrize(("condition", "suffix"), [("benchmark", []), ("newest-first", ["newest-first"])])
def test_draws_paths(condition: str, suffix: list[str]) -> None:
    scores = [0.1, 0.2, 0.9, 0.4]
    solved = [True, False, True, True]
    records = [
        record(n, {a: result(s, ok) for a in ("random", "model")}, condition=condition)
        for n, (s, ok) in enumerate(zip(scores, solved, strict=True), start=1)
    ]
    arms = summarise(records).arms
    for arm, name in (("random", "random"), ("model", "sparrow")):
        path = ["bootstrap", "1.0.0", name, "tiles.manhattan", *suffix]
        assert arms[arm].score == geometric_interval(scores, path)
        assert arms[arm].coverage.interval == mean_interval([1.0, 0.0, 1.0, 1.0], [*path, "solved"])
        assert arms[arm].solved_only.left_out == 1
        assert arms[arm].solved_only.interval == geometric_interval([0.1, 0.9, 0.4], [*path, "solved_only"])
        assert arms[arm].path_score.value == pytest.approx(0.5)
        assert arms[arm].unsolved == 1


def test_equal_values_need_no_draws_and_give_the_same() -> None:
    records = [record(n, {"random": result(0.3)}) for n in range(1, 8)]
    path = ["bootstrap", "1.0.0", "random", "tiles.manhattan"]
    assert summarise(records).arms["random"].score == geometric_interval([0.3] * 7, path)


def test_zero_denominators_are_left_out_and_counted() -> None:
    tallies = [choices(4, 1, 6, 1), choices(0, 0, 0, 0), choices(2, 0, 0, 2)]
    records = [record(n, {"random": result(0.5, choices=c)}) for n, c in enumerate(tallies, start=1)]
    arm = summarise(records).arms["random"]
    assert (arm.optimal_share.value, arm.optimal_share.left_out) == (pytest.approx(0.125), 1)
    assert (arm.mean_regret.value, arm.mean_regret.left_out) == (pytest.approx(2.0), 2)
    assert (arm.dead_end_share.value, arm.dead_end_share.left_out) == (pytest.approx(0.625), 1)
    assert (arm.on_path_share.value, arm.on_path_share.left_out) == (None, 3)


def test_usage_sums_and_unknown_tokens() -> None:
    records = [
        record(1, {"model": result(0.5) | USAGE}),
        record(2, {"model": result(0.5) | USAGE | {"output_tokens": None, "served_models": {"m-2": 4}}}),
    ]
    usage = summarise(records).arms["model"].usage
    assert usage is not None
    assert (usage.requests, usage.input_tokens, usage.output_tokens, usage.cost_usd) == (8, 200, None, 0.5)
    assert (usage.refusals, usage.refusal_share, usage.retries) == (2, 0.25, 6)
    assert usage.served_models == {"m-1": 4, "m-2": 4}
    assert (usage.latency_p50_ms, usage.latency_p95_ms) == (8.0, 64.0)
    assert usage.seconds == 5.0


def test_nothing_solved() -> None:
    summary = summarise([record(1, {"model": result(0.002, False) | USAGE})])
    assert summary.arms["model"].path_score.value is None
    assert summary.arms["model"].solved_only.value is None
    json.dumps(summary.as_dict(), allow_nan=False)


def test_mixed_definitions_are_refused() -> None:
    first = record(1, {"random": result(0.5)})
    with pytest.raises(StorageError, match="differ in definition"):
        summarise([first, replace(first, trial=2, definition="e")])


def test_overall_names_a_headline_only_when_complete() -> None:
    def cell(domain: str, trials: int) -> list[Record]:
        return [record(n, {"model": result(n / 10)}, domain=domain) for n in range(1, trials + 1)]

    tiles, words = summarise(cell("tiles", 3)), summarise(cell("words", 3))
    whole = overall([words, tiles], ["tiles", "words"], 3)
    scores = [0.1, 0.2, 0.3]
    expected = overall_interval(
        {"tiles": scores, "words": scores}, ["bootstrap", "1.0.0", "sparrow", "overall"]
    )
    assert whole.headline("model") == expected
    for part in (
        overall([tiles], ["tiles", "words"], 3),
        overall([tiles, summarise(cell("words", 2))], ["tiles", "words"], 3),
        overall([tiles, words], [], 3),
    ):
        assert part.headline("model") is None
        assert part.arms["model"].value > 0


def test_repeats_of_a_trial_are_no_new_trials() -> None:
    """Each trial run three times alike: the interval is that of the trials run once."""
    values = [0.1, 0.5, 0.2, 0.9, 0.4]
    once = [record(n, {"model": result(v)}) for n, v in enumerate(values, 1)]
    thrice = [replace(one, repeat=r) for one in once for r in (1, 2, 3)]
    one, three = summarise(once).arms["model"], summarise(thrice).arms["model"]
    assert three.score == one.score
    assert three.coverage == one.coverage
    assert three.scores == one.scores
    assert (one.trials, three.trials) == (5, 15)


def test_repeats_count_by_their_mean() -> None:
    first = [record(n, {"model": result(v)}) for n, v in enumerate([0.1, 0.4], 1)]
    second = [record(n, {"model": result(v)}, repeat=2) for n, v in enumerate([0.4, 0.1], 1)]
    found = summarise([*first, *second]).arms["model"].score
    assert found.value == pytest.approx(0.2)
    assert found.low == found.high == found.value
