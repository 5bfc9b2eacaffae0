"""A sweep in a real MLflow store: one run above those of its jobs, brought up to date, never doubled."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beeline.scoring import overall, summarise
from beeline.sweep_record import SweepJob, SweepRecord
from tests.beeline.test_sweep_record import job, sweep
from tests.tracking.synthetic import MODELS, make_records, write_records
from tests.tracking.test_world_report import world
from tracking.mlflow_store import MLflowTracker, store_uri
from tracking.sync import main as sync

KEY = "the environment variable X_API_KEY holds no key: type export X_API_KEY=YOUR_KEY and run again"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without runs: making its tables takes longer than a test."""
    folder = tmp_path_factory.mktemp("empty")
    client(folder).search_experiments()
    return folder / "mlflow.db"


@pytest.fixture(autouse=True)
def _store(empty: Path, tmp_path: Path) -> None:
    shutil.copy(empty, tmp_path / "mlflow.db")


def client(results: Path) -> Any:
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri=store_uri(results))


def search(results: Path, wanted: str, version: str = "1.0.0") -> list[Any]:
    found = client(results).get_experiment_by_name(f"beeline {version}")
    return list(client(results).search_runs([found.experiment_id], filter_string=wanted))


def sweep_runs(results: Path, version: str = "1.0.0") -> list[Any]:
    return search(results, "tags.kind = 'sweep'", version)


def children(results: Path, run: Any) -> set[tuple[str, str]]:
    found = search(results, f"tags.`mlflow.parentRunId` = '{run.info.run_id}'")
    assert all(child.data.tags["condition"] == "-" for child in found)
    return {(child.data.tags["domain"], child.data.tags["model"]) for child in found}


def make(results: Path, domains: Sequence[str], count: int, trials: int = 3, **more: Any) -> list[SweepJob]:
    """Jobs with records, cells not logged yet."""
    jobs = []
    for domain in domains:
        for model in MODELS[:count]:
            write_records(results, make_records(domain, model, trials, **more))
            jobs.append(job(domain, model[0], finished=trials, wanted=trials, **more))
    return jobs


def jobs_table(results: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """As MLflow reads it; part of that goes by the environment, whatever the client's address."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store_uri(results))
    return client(results).load_table(run.info.experiment_id, "sweep/jobs.json", [run.info.run_id])


def filled(results: Path) -> int:
    return sync(["--results", str(results), "--no-reports"])


def test_runs_of_jobs_hang_from_one_run_and_nothing_is_doubled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = make(tmp_path, ("tiles", "countdown"), 2)
    record = sweep(*jobs, overrides=("domain=tiles,countdown", "model=jev,luna", "trials=3"))
    record.write(tmp_path)
    assert filled(tmp_path) == 0
    assert (
        f"MLflow: sweep {record.id} in experiment beeline 1.0.0 (4 jobs, 4 done)" in capsys.readouterr().out
    )
    (run,) = sweep_runs(tmp_path)
    assert run.info.run_name == "sweep · 2 domains x 2 models · score"
    assert run.info.status == "FINISHED"
    assert children(tmp_path, run) == {(j.domain, j.model) for j in jobs}
    assert "condition" not in run.data.tags
    assert run.data.tags["status"] == "done"
    assert run.data.params == {
        "overrides": "domain=tiles,countdown model=jev,luna trials=3",
        "domains": "countdown, tiles",
        "models": "jev, luna",
        "studies": "score",
    }
    summaries = [summarise(make_records(domain, MODELS[1], 3)) for domain in ("tiles", "countdown")]
    metrics = run.data.metrics
    assert metrics["tiles/luna.model.score"] == summaries[0].arms["model"].score.value
    assert metrics["countdown/random.score"] == summaries[1].arms["random"].score.value
    assert metrics["overall/luna.model.score"] == overall(summaries, ()).arms["model"].value
    assert metrics["jobs/done"] == 4
    # Conditions hang from the runs of the jobs still, and these are found as before.
    everything = search(tmp_path, "")
    assert len(everything) == 1 + 4 + 4
    assert filled(tmp_path) == 0
    assert capsys.readouterr().out.count("nothing new") == 4
    assert MLflowTracker(None, tmp_path).log_sweep(record) == ""
    assert {r.info.run_id for r in search(tmp_path, "")} == {r.info.run_id for r in everything}


def test_files_and_the_table_are_in_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = make(tmp_path, ("tiles", "countdown"), 2)
    jobs.append(job("rush_hour", "jev", state="failed", reason=KEY, finished=0, wanted=3))
    jobs.append(job("basket", "jev", suite="worlds", state="left out", finished=0, wanted=0))
    record = sweep(*jobs)
    record.write(tmp_path)
    assert filled(tmp_path) == 0
    (run,) = sweep_runs(tmp_path)
    assert (run.info.status, run.data.tags["status"]) == ("FAILED", "failed")
    assert run.data.tags["jobs"] == "6 jobs, 4 done, 1 failed, 1 left out"
    assert run.info.run_name == "sweep · 3 domains x 2 models · score"
    assert "X\\_API\\_KEY holds no key" in run.data.tags["mlflow.note.content"]
    assert not any(name.startswith(("rush_hour/", "overall/")) for name in run.data.metrics)
    store = client(tmp_path)
    names = {item.path for item in store.list_artifacts(run.info.run_id, "sweep")}
    assert names == {"sweep/sweep.json", "sweep/sweep.md", "sweep/jobs.json"}
    text = Path(store.download_artifacts(run.info.run_id, "sweep/sweep.json", str(tmp_path))).read_text()
    assert SweepRecord.read(text) == record
    table = jobs_table(tmp_path, run, monkeypatch)
    assert len(table) == 6
    failed = table[table["state"] == "failed"].iloc[0]
    assert failed["reason"] == KEY
    first = table.iloc[0]
    score = summarise(make_records("tiles", MODELS[0], 3)).arms["model"].score
    assert (first["domain"], first["model"]) == ("tiles", "jev")
    assert (first["value"], first["low"], first["high"]) == pytest.approx(
        (score.value, score.low, score.high)
    )


def test_a_sweep_that_is_resumed_is_the_same_run_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = make(tmp_path, ("tiles", "countdown"), 2)
    partial = replace(done[-1], state="stopped", reason="a cap is reached", finished=1)
    write_records(tmp_path, make_records("countdown", MODELS[1], 1))
    first = sweep(*done[:-1], partial)
    first.write(tmp_path)
    assert filled(tmp_path) == 0
    (before,) = sweep_runs(tmp_path)
    assert before.info.status == "KILLED"
    assert "overall/luna.model.score" not in before.data.metrics
    assert "overall/jev.model.score" in before.data.metrics
    write_records(tmp_path, make_records("countdown", MODELS[1], 3))
    resumed = sweep(*done, started_utc="2026-12-03T00:00:00.000Z")
    resumed.write(tmp_path)
    assert filled(tmp_path) == 0
    (after,) = sweep_runs(tmp_path)
    assert after.info.run_id == before.info.run_id
    assert after.info.status == "FINISHED"
    assert (after.data.metrics["jobs/done"], after.data.metrics["jobs/stopped"]) == (4, 0)
    score = summarise(make_records("countdown", MODELS[1], 3)).arms["model"].score.value
    assert after.data.metrics["countdown/luna.model.score"] == score
    assert len(jobs_table(tmp_path, after, monkeypatch)) == 4
    assert len(children(tmp_path, after)) == 4


def test_what_mlflow_cannot_change_makes_a_new_run_in_place_of_the_old(tmp_path: Path) -> None:
    jobs = make(tmp_path, ("tiles", "countdown"), 2)
    record = sweep(*jobs)
    record.write(tmp_path)
    assert filled(tmp_path) == 0
    (before,) = sweep_runs(tmp_path)
    other = replace(record, overrides=("trials=3",))  # a param
    other.write(tmp_path)
    assert filled(tmp_path) == 0
    (after,) = sweep_runs(tmp_path)
    assert after.info.run_id != before.info.run_id
    assert after.data.params["overrides"] == "trials=3"
    assert len(children(tmp_path, after)) == 4
    fewer = replace(other, jobs=(*jobs[:-1], replace(jobs[-1], state="failed", finished=0, reason="no")))
    fewer.write(tmp_path)  # metrics that are no longer there
    assert filled(tmp_path) == 0
    (last,) = sweep_runs(tmp_path)
    assert "overall/luna.model.score" not in last.data.metrics
    assert "countdown/luna.model.score" not in last.data.metrics
    assert len(search(tmp_path, "tags.condition = '-'")) == 4


def test_a_job_belongs_to_the_newest_sweep_that_ran_it(tmp_path: Path) -> None:
    jobs = make(tmp_path, ("tiles", "countdown"), 1)
    old = sweep(*jobs)
    new = sweep(
        jobs[0],
        *make(tmp_path, ("tiles",), 2)[1:],
        replace(jobs[1], state="failed", finished=0, reason="it could not be run"),
        started_utc="2026-12-02T00:00:00.000Z",
    )
    for record in (new, old):
        record.write(tmp_path)
    for _ in range(2):  # logging the old one again takes nothing back
        assert filled(tmp_path) == 0
        by_id = {run.data.tags["sweep"]: run for run in sweep_runs(tmp_path)}
        assert children(tmp_path, by_id[old.id]) == {("countdown", "jev")}
        assert children(tmp_path, by_id[new.id]) == {("tiles", "jev"), ("tiles", "luna")}
        MLflowTracker(None, tmp_path).log_sweep(old)


def test_no_secret_of_an_override_reaches_file_or_store(tmp_path: Path) -> None:
    typed = (
        "domain=tiles",
        "+model.api_key=hush-hush",
        "tracking.uri=http://me:hush-hush@host/x",
        "+model.headers={Authorization: Bearer hush-hush}",
    )
    failed = job("countdown", state="failed", finished=0, reason="http://me:hush-hush@host/x is away")
    record = sweep(*make(tmp_path, ("tiles",), 1), failed, overrides=typed)
    record.write(tmp_path)
    assert filled(tmp_path) == 0
    (run,) = sweep_runs(tmp_path)
    assert "domain=tiles +model.api_key=***" in run.data.params["overrides"]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 4
    for path in files:
        assert b"hush-hush" not in path.read_bytes(), path


def test_a_torn_file_is_noted_and_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = sweep(*make(tmp_path, ("tiles",), 2))
    path = record.write(tmp_path)
    torn = path.with_name("0123456789ab.json")
    torn.write_text(path.read_text()[:200])
    assert filled(tmp_path) == 0
    assert f"note: {torn} is passed over" in capsys.readouterr().err
    assert len(sweep_runs(tmp_path)) == 1


def test_worlds_and_navigation_in_one_sweep(tmp_path: Path) -> None:
    jobs = make(tmp_path, ("tiles", "countdown"), 2)
    for family in ("toy_family", "other_family"):
        for model in ("jev", "luna"):
            records = []
            for trial in (1, 2):
                one = world(trial, "direct")
                arm = dict(one.arms["oracle"]) | ({} if trial == 1 or model == "jev" else {"exact": False})
                more = {"model": model, "model_id": model, "study": "score", "domain": family}
                records.append(replace(one, arms={**one.arms, "model": arm}, **more))
            write_records(tmp_path, records)
            jobs.append(job(family, model, suite="worlds", finished=2, wanted=2))
    record = sweep(*jobs)
    record.write(tmp_path)
    assert filled(tmp_path) == 0
    (run,) = sweep_runs(tmp_path)
    metrics = run.data.metrics
    assert metrics["toy_family/jev.model.exact"] == 1
    assert metrics["overall/luna.model.exact"] == 0.5
    assert metrics["toy_family/oracle.exact"] == 1
    assert "overall/luna.model.score" in metrics
    assert len(children(tmp_path, run)) == 8


def test_several_versions_have_a_run_each(tmp_path: Path) -> None:
    jobs = make(tmp_path, ("tiles",), 1) + make(tmp_path, ("tiles",), 1, version="2.0.0")
    record = sweep(*jobs)
    said = MLflowTracker(None, tmp_path).log_sweep(record)
    assert said.count(f"MLflow: sweep {record.id} in experiment") == 2
    for version in ("1.0.0", "2.0.0"):
        (run,) = sweep_runs(tmp_path, version)
        assert run.info.run_name == "sweep · tiles x jev · score"
        assert run.data.metrics["jobs/done"] == 1


def test_a_study_other_than_score_has_its_name_in_metrics(tmp_path: Path) -> None:
    jobs = make(tmp_path, ("tiles",), 1)
    jobs += make(tmp_path, ("tiles",), 1, trials=2, study="order_sensitivity")
    write_records(tmp_path, make_records("tiles", None, 5))
    jobs.append(job("tiles", "none", study="baseline", finished=5, wanted=5))
    MLflowTracker(None, tmp_path).log_sweep(sweep(*jobs))
    (run,) = sweep_runs(tmp_path)
    metrics = run.data.metrics
    assert {name for name in metrics if "model" in name} == {
        "tiles/jev.model.score",
        "tiles/jev.order_sensitivity.model.score",
    }
    # Of arms that no model changes, those with the most trials.
    assert (
        metrics["tiles/random.score"] == summarise(make_records("tiles", None, 5)).arms["random"].score.value
    )


def test_a_store_that_fails_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = sweep(*make(tmp_path, ("tiles",), 1))
    record.write(tmp_path)
    (tmp_path / "store").mkdir()
    assert sync(["--results", str(tmp_path), "--no-reports", "--uri", f"sqlite:///{tmp_path}/store"]) == 1
    err = capsys.readouterr().err
    assert f"tracking.sync: sweep {record.id}: the store failed" in err


def test_records_that_cannot_be_read_cost_their_numbers_alone(tmp_path: Path) -> None:
    jobs = make(tmp_path, ("tiles", "countdown"), 1)
    path = tmp_path / "1.0.0" / "jev" / "score" / "tiles.benchmark.jsonl"
    path.write_text('{"schema":99}\n')
    MLflowTracker(None, tmp_path).log_sweep(sweep(*jobs))
    (run,) = sweep_runs(tmp_path)
    assert "countdown/jev.model.score" in run.data.metrics
    assert "tiles/jev.model.score" not in run.data.metrics
    assert "newer beeline" in run.data.tags["mlflow.note.content"]


def test_a_replacement_that_was_cut_off_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow.tracking import MlflowClient

    jobs = make(tmp_path, ("tiles",), 2)
    record = sweep(*jobs)
    record.write(tmp_path)
    assert filled(tmp_path) == 0
    other = replace(record, overrides=("trials=3",))
    with monkeypatch.context() as patched:

        def gone(*_: Any) -> None:
            raise OSError("away")

        patched.setattr(MlflowClient, "delete_run", gone)
        with pytest.raises(OSError, match="away"):
            MLflowTracker(None, tmp_path).log_sweep(other)
    assert len(sweep_runs(tmp_path)) == 2
    assert MLflowTracker(None, tmp_path).log_sweep(other)
    (run,) = sweep_runs(tmp_path)
    assert len(children(tmp_path, run)) == 2
