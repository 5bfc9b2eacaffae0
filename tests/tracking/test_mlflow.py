"""A real MLflow store: logged once, replaced when more is there, filled later."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beeline.errors import SettingError
from beeline.records import Cell, read_records
from beeline.scoring import summarise
from tests.commands import beeline, environment
from tests.tracking.synthetic import MODELS, make_analysis, make_records, write_records
from tracking.analysis import show
from tracking.mlflow_store import MLflowTracker, store_uri
from tracking.sync import main as sync


def runs(results: Path) -> list[Any]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=store_uri(results))
    experiment = client.get_experiment_by_name("beeline 1.0.0")
    return list(client.search_runs([experiment.experiment_id]))


def test_log_sync_and_extend(tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert beeline(tmp_path, "domain=countdown", "model=first_option", "trials=2").returncode == 0
    assert sync(["--results", str(results)]) == 0
    first = runs(results)
    assert len(first) == 2  # the run and its condition
    child = next(run for run in first if run.data.tags["condition"] == "benchmark")
    parent = next(run for run in first if run.data.tags["condition"] == "-")
    assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert child.data.params["model.model_id"] == "first-option"
    path = results / "1.0.0" / "first_option" / "score" / "countdown.benchmark.jsonl"
    score = summarise(read_records(path).records).arms["model"].score.value
    assert score in child.data.metrics.values()
    assert score in parent.data.metrics.values()

    assert sync(["--results", str(results)]) == 0
    assert {run.info.run_id for run in runs(results)} == {run.info.run_id for run in first}

    assert beeline(tmp_path, "domain=countdown", "model=first_option", "trials=3").returncode == 0
    assert sync(["--results", str(results)]) == 0
    extended = runs(results)
    assert len(extended) == 2
    assert {run.info.run_id for run in extended} != {run.info.run_id for run in first}


def test_a_store_that_fails_costs_one_warning(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "mlflow.db").mkdir()
    run = beeline(tmp_path, "domain=countdown", "model=first_option", "trials=2", "+tracking=mlflow")
    assert run.returncode == 2  # the group is in the defaults already: said, nothing run
    run = beeline_tracked(tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("warning: tracking failed") == 1
    assert "python -m tracking.sync" in run.stderr
    assert (tmp_path / "results" / "1.0.0" / "first_option").is_dir()


def beeline_tracked(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "beeline",
            "domain=countdown",
            "model=first_option",
            "trials=2",
            f"results={folder / 'results'}",
        ],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("kind", ["folder", "garbage", "nowhere"])
def test_a_store_that_cannot_be_written_is_said_at_once(tmp_path: Path, kind: str) -> None:
    """MLflow by itself tries for almost two minutes."""
    store = tmp_path / "store"
    if kind == "folder":
        store.mkdir()
    elif kind == "garbage":
        store.write_bytes(b"no database " * 100)
    else:
        store = store / "mlflow.db"
    tracker = MLflowTracker.from_settings({"uri": f"sqlite:///{store}"}, tmp_path)
    with pytest.raises(sqlite3.Error):
        tracker.log(Cell("1.0.0", "sparrow", "score", "tiles", "benchmark"), [], None, {})


def test_several_conditions_all_show_on_the_run_above_them(tmp_path: Path) -> None:
    tracker = MLflowTracker(None, tmp_path)
    scores = {}
    for condition in ("benchmark", "found", "newest-first"):
        records = make_records("tiles", MODELS[0], 4, study="order_sensitivity", condition=condition)
        write_records(tmp_path, records)
        summary = summarise(records)
        scores[condition] = summary.arms["model"].score.value
        tracker.log(records[0].cell, records, summary.as_dict(), {})
    assert len(set(scores.values())) == 3
    (parent,) = (run for run in runs(tmp_path) if run.data.tags["condition"] == "-")
    metrics = parent.data.metrics
    assert metrics["arms.model.score.value"] == scores["benchmark"]
    assert metrics["found/model.score.value"] == scores["found"]
    assert metrics["newest-first/model.score.value"] == scores["newest-first"]


def artifacts(results: Path, run: Any, folder: str) -> set[str]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=store_uri(results))
    return {Path(item.path).name for item in client.list_artifacts(run.info.run_id, folder)}


def test_report_and_analysis_are_artifacts_and_versions_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_records(tmp_path, make_records("tiles", MODELS[0], 4, study="order_sensitivity"))
    write_records(tmp_path, make_records("tiles", MODELS[0], 4, study="order_sensitivity", version="2.0.0"))
    show(make_analysis("tiles", "jev"), tmp_path)
    assert sync(["--results", str(tmp_path)]) == 0
    (parent,) = (run for run in runs(tmp_path) if run.data.tags["condition"] == "-")
    assert artifacts(tmp_path, parent, "analysis") == {
        "tiles.analysis.json",
        "tiles.orders.svg",
        "tiles.orders.png",
    }
    assert {"report.html", "report.md"} <= artifacts(tmp_path, parent, "report")
    first = capsys.readouterr().out
    assert "report and analysis" in first
    assert sync(["--results", str(tmp_path)]) == 0
    assert "MLflow: report" not in capsys.readouterr().out  # nothing new, nothing made again

    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=store_uri(tmp_path))
    ids = [client.get_experiment_by_name(f"beeline {v}").experiment_id for v in ("1.0.0", "2.0.0")]
    wanted = "tags.domain = 'tiles' and tags.model = 'jev' and tags.condition = '-'"
    both = client.search_runs(ids, filter_string=wanted)
    assert {run.data.tags["version"] for run in both} == {"1.0.0", "2.0.0"}
    assert all("arms.model.score.value" in run.data.metrics for run in both)


def test_sync_goes_on_after_a_cell_that_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for domain in ("countdown", "tiles"):
        write_records(tmp_path, make_records(domain, MODELS[0], 2))
    broken = make_records("blocksworld", MODELS[0], 2)
    path = write_records(tmp_path, broken)
    path.write_text('{"schema":99}\n')
    path.with_name("countdown.benchmark.spec.json").write_text("{no json")
    assert sync(["--results", str(tmp_path), "--no-reports"]) == 1
    out, err = capsys.readouterr()
    assert "tiles.benchmark.jsonl: MLflow" in out
    assert "blocksworld.benchmark.jsonl: " in err
    assert "newer beeline" in err
    assert "countdown.benchmark.jsonl: " in err
    assert len({run.data.tags["domain"] for run in runs(tmp_path)}) == 1


def test_a_store_that_is_away_is_not_asked_for_every_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for domain in ("blocksworld", "countdown", "tiles", "rush_hour"):
        write_records(tmp_path, make_records(domain, MODELS[0], 1))
    (tmp_path / "store").mkdir()
    assert sync(["--results", str(tmp_path), "--uri", f"sqlite:///{tmp_path}/store"]) == 1
    err = capsys.readouterr().err
    assert err.count("the store failed (") == 3
    assert "5 more not tried" in err


def test_unknown_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"tracking\.urii"):
        MLflowTracker.from_settings({"urii": "x"}, tmp_path)


def test_no_records_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sync(["--results", str(tmp_path)]) == 1
    assert "no records" in capsys.readouterr().err


def test_a_password_in_the_address_is_never_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert beeline(tmp_path, "domain=countdown", "model=first_option", "trials=1").returncode == 0
    # Nothing listens there; the error names the address.
    uri = "http://someone:hush-hush@127.0.0.1:9"
    assert sync(["--results", str(tmp_path / "results"), "--uri", uri]) == 1
    out, err = capsys.readouterr()
    assert "the store failed" in err
    assert "hush-hush" not in out + err


def test_a_run_of_a_study_logs_its_analysis_by_itself(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "beeline", "domain=keys_doors", "model=first_option", "trials=2"]
    command += ["study=order_sensitivity", "study.orders=[found]", f"results={tmp_path / 'results'}"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("MLflow: sqlite") == 1  # not once a condition
    parent = next(run for run in runs(tmp_path / "results") if run.data.tags["condition"] == "-")
    assert "keys_doors.analysis.json" in artifacts(tmp_path / "results", parent, "analysis")


def test_a_study_without_conditions_gets_a_run_for_its_analysis(tmp_path: Path) -> None:
    write_records(tmp_path, make_records("tiles", MODELS[0], 2))
    for variant in ("a-vs-b", "a-vs-c"):
        show(make_analysis("tiles", study="compare", variant=variant), tmp_path)
    for _ in range(2):  # a second sync adds nothing
        assert sync(["--results", str(tmp_path)]) == 0
        (run,) = (run for run in runs(tmp_path) if run.data.tags["study"] == "compare")
        held = artifacts(tmp_path, run, "analysis")
        for name in ("tiles.a-vs-b", "tiles.a-vs-c"):
            assert {f"{name}.analysis.json", f"{name}.orders.svg", f"{name}.orders.png"} <= set(held)
