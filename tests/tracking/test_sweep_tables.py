"""What a sweep ends with: the matrix where there are two dimensions, what failed, the count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from beeline.scoring import overall, summarise
from beeline.statistics import mean
from beeline.sweep_record import SweepJob, SweepRecord
from beeline.world_summary import summarise_worlds
from tests.beeline.test_sweep_record import job, sweep
from tests.tracking.synthetic import MODELS, make_records, write_records
from tests.tracking.test_world_report import world
from tracking.sweep_data import AnySummary, matrices, sweep_summaries
from tracking.sweep_tables import sweep_text, write_sweep_table
from tracking.tables import format_score

KEY = "the environment variable X_API_KEY holds no key: type export X_API_KEY=YOUR_KEY and run again"


def navigation(domains: int, models: int, trials: int = 3) -> tuple[list[SweepJob], list[AnySummary]]:
    jobs, summaries = [], []
    for domain in ("tiles", "countdown", "rush_hour", "blocksworld")[:domains]:
        for model in MODELS[:models]:
            jobs.append(job(domain, model[0], finished=trials, wanted=trials))
            summaries.append(summarise(make_records(domain, model, trials)))
    return jobs, summaries


def worlds(exact: dict[tuple[str, str], int]) -> tuple[list[SweepJob], list[AnySummary]]:
    """Of four worlds a family each, so many exact."""
    jobs, summaries = [], []
    for (family, model), count in exact.items():
        records = []
        for trial in range(1, 5):
            one = world(trial, "direct")
            arm = {**one.arms["oracle"], "exact": trial <= count}
            records.append(
                replace(one, domain=family, model=model, study="score", arms={**one.arms, "model": arm})
            )
        jobs.append(job(family, model, suite="worlds", finished=4, wanted=4))
        summaries.append(summarise_worlds(records))
    return jobs, summaries


def rows(text: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}


def test_a_matrix_with_intervals_and_means() -> None:
    jobs, summaries = navigation(2, 2)
    text = sweep_text(sweep(*jobs), summaries)
    assert text.startswith("scores · study score · version 1.0.0\n")
    assert rows(text)["domain"] == ["jev", "luna"]
    score = summaries[1].arms["model"].score  # type: ignore[union-attr]
    assert rows(text)["tiles"][2:] == [
        format_score(score.value),
        f"{format_score(score.low)}-{format_score(score.high)}",
    ]
    whole = overall([s for s in summaries if s.cell.model == "luna"], ()).arms["model"]  # type: ignore[misc]
    assert rows(text)["mean"][2] == format_score(whole.value)
    assert text.endswith("sweep: 4 jobs, 4 done\n")


@pytest.mark.parametrize(("domains", "models"), [(1, 3), (3, 1), (1, 1)])
def test_one_dimension_is_in_the_tables_of_the_jobs(domains: int, models: int) -> None:
    jobs, summaries = navigation(domains, models)
    count = len(jobs)
    assert sweep_text(sweep(*jobs), summaries) == f"sweep: {count} job{'s' * (count > 1)}, {count} done\n"


def test_what_failed_has_its_reason_and_no_mean_hides_it() -> None:
    jobs, summaries = navigation(2, 3)
    jobs[-1] = replace(jobs[-1], state="failed", reason=f"{KEY}\nnow", finished=0)
    jobs[-2] = replace(jobs[-2], state="stopped", reason="a cap is reached", finished=1)
    jobs.append(job("basket", suite="worlds", state="left out", finished=0, reason="it is of worlds"))
    text = sweep_text(sweep(*jobs), summaries[:-1], 200)
    assert f"failed: countdown · pplx_decider_1 · score: {KEY} now\n" in text
    assert "stopped: countdown · luna · score, 1 of 3 trials: a cap is reached\n" in text
    assert text.endswith("sweep: 7 jobs, 4 done, 1 failed, 1 stopped, 1 left out\n")
    countdown = rows(text)["countdown"]
    assert countdown[-1] == "-"
    assert "°" in countdown[2]
    assert "not all trials" in text
    means = rows(text)["mean"]
    assert means[-2:] == ["-", "-"]
    assert len(means) == 4  # one with its interval
    assert "basket" not in text


def test_records_of_a_job_that_did_not_run_are_not_its_own() -> None:
    jobs, summaries = navigation(2, 2)
    jobs[0] = replace(jobs[0], state="failed", reason=KEY, finished=0)
    assert rows(sweep_text(sweep(*jobs), summaries))["tiles"][0] == "-"


def test_a_job_that_failed_before_its_suite_was_known_is_missed_where_it_belongs() -> None:
    jobs, summaries = navigation(2, 2)
    jobs += [job("rush_hour", "jev", suite="", state="failed", reason=KEY, finished=0, wanted=0)]
    (matrix,) = matrices(sweep(*jobs), summaries)
    assert matrix.domains == ("tiles", "countdown", "rush_hour")
    assert matrix.means == {}


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 120, 300])
@pytest.mark.parametrize("models", [2, 5, 9])
def test_no_line_is_wider_than_the_terminal(width: int, models: int) -> None:
    jobs, summaries = navigation(4, models, trials=2)
    jobs.append(job("word_ladder", "jev", state="failed", reason=KEY, finished=0, wanted=0))
    text = sweep_text(sweep(*jobs), summaries, width)
    assert max(map(len, text.splitlines())) <= width
    whole = " ".join(text.split())
    for name in [m[0] for m in MODELS[:models]]:
        assert name in whole
    if models == 5 and width == 80:
        assert "95% intervals: in the tables of the jobs" in text
    if width == 300:
        assert f"score: {KEY}\n" in text


def test_worlds_beside_navigation() -> None:
    jobs, summaries = navigation(2, 2)
    more, theirs = worlds({("a", "jev"): 4, ("a", "luna"): 1, ("b", "jev"): 3, ("b", "luna"): 0})
    text = sweep_text(sweep(*jobs, *more), [*summaries, *theirs])
    first, second, _ = text.split("\n\n")
    assert first.startswith("scores ·")
    assert second.startswith("share of worlds with the exact optimum · study score")
    assert rows(second)["a"] == ["100%", "25%"]
    assert rows(second)["mean"] == [f"{100 * mean([1, 0.75]):.0f}%", f"{100 * mean([0.25, 0]):.0f}%"]
    assert text.endswith("sweep: 8 jobs, 8 done\n")


def test_versions_and_studies_stand_apart() -> None:
    jobs, summaries = navigation(2, 2)
    again = [replace(one, study="order_sensitivity") for one in jobs]
    newer = [replace(one, version="2.0.0") for one in jobs]
    found = matrices(sweep(*jobs, *again, *newer), summaries)
    assert [(m.version, m.study, len(m.scores)) for m in found] == [
        ("1.0.0", "score", 4),
        ("1.0.0", "order_sensitivity", 0),
        ("2.0.0", "score", 0),
    ]


def written(results: Path, record: SweepRecord) -> str:
    path = write_sweep_table(record, results)
    assert path == results / "sweeps" / f"{record.id}.md"
    return path.read_text("utf-8")


def test_the_file_is_made_from_records_alone(tmp_path: Path) -> None:
    jobs, summaries = navigation(2, 2)
    for domain in ("tiles", "countdown"):
        for model in MODELS[:2]:
            write_records(tmp_path, make_records(domain, model, 3))
    jobs.append(job("rush_hour", "jev", state="failed", reason=KEY, finished=0, wanted=3))
    record = sweep(*jobs, overrides=("domain=tiles,countdown", "+x.token=hush"))
    text = written(tmp_path, record)
    assert text.startswith(f"# Sweep {record.id}\n\n5 jobs, 4 done, 1 failed.\n")
    assert "hush" not in text
    assert "failed: rush\\_hour · jev · score: the environment variable X\\_API\\_KEY holds no key" in text
    value = format_score(summaries[0].arms["model"].score.value)  # type: ignore[union-attr]
    assert f"| tiles | jev | score | done | 3/3 | {value} |" in text
    assert "| rush\\_hour | jev | score | failed | 0/3 | - | - | - | - |" in text
    assert write_sweep_table(record, tmp_path, summaries).read_text("utf-8") == text


def test_records_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    path = write_records(tmp_path, make_records("tiles", MODELS[0], 3))
    path.write_text('{"schema":99}\n')
    record = sweep(job("tiles", "jev", finished=3, wanted=3), job("countdown", "jev", finished=3, wanted=3))
    assert sweep_summaries(record, tmp_path)[0] == []
    text = written(tmp_path, record)
    assert "tiles · jev · score: " in text
    assert "newer beeline" in text
    assert "countdown · jev · score:" not in text


def test_of_several_conditions_the_benchmark_counts(tmp_path: Path) -> None:
    for condition in ("a-first", "benchmark", "newest"):
        write_records(tmp_path, make_records("tiles", MODELS[0], 3, study="orders", condition=condition))
    record = sweep(job("tiles", "jev", study="orders", finished=3, wanted=3))
    (summary,), notes = sweep_summaries(record, tmp_path)
    assert (summary.cell.condition, notes) == ("benchmark", [])
