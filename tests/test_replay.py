"""Archives, replays, the answer cache and clean reruns, as a user runs them."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from protocols.fake import FakeServer
from tests.commands import beeline, environment, records

NAME = ("1.0.0", "local", "score", "countdown.benchmark.jsonl")
#: Refusals, invalid answers, ties, mismatches, retries and an unknown usage, all at once.
FAULTS = ("refusal:0.05", "all_zero:0.05", "round2", "disagree:0.2", "overloaded:0.03", "no_usage:0.1")


def asked(server: FakeServer, *more: str) -> tuple[str, ...]:
    return (
        "domain=countdown",
        "model=local",
        f"model.base_url={server.base_url}",
        "model.id=m",
        "model.price_input=0.1",
        *more,
    )


def full(folder: Path, *parts: str) -> list[dict[str, Any]]:
    """Records by trial, all but when they were made, latencies included."""
    lines = Path(folder, "results", *parts).read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    for record in found:
        del record["started_utc"], record["finished_utc"], record["code"]
    return sorted(found, key=lambda record: record["trial"])


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every kind of reply, archived; the server is gone afterwards."""
    folder = tmp_path_factory.mktemp("first")
    with FakeServer(*FAULTS) as server:
        run = beeline(folder, *asked(server, "trials=4", "archive=on"))
        assert run.returncode == 0, run.stderr
        (folder / "url").write_text(server.base_url)
    arms = [record["arms"]["model"] for record in full(folder, *NAME)]
    for counter in ("refusals", "invalid_answers", "ties", "disagreements", "retries"):
        assert sum(arm[counter] for arm in arms) > 0, counter
    return folder


def replayed(first: Path, folder: Path, source: Path, *more: str) -> Any:
    url = (first / "url").read_text()
    return beeline(
        folder,
        "domain=countdown",
        "model=local",
        f"model.base_url={url}",
        "model.id=m",
        "model.price_input=0.1",
        "trials=4",
        f"model.replay={source}",
        *more,
    )


def test_an_archive_gives_the_record_again_without_a_network(first: Path, tmp_path: Path) -> None:
    run = replayed(first, tmp_path, first / "results", "archive=on")
    assert run.returncode == 0, run.stderr
    assert full(tmp_path, *NAME) == full(first, *NAME)
    for kind in ("archive", "traces"):
        ours, theirs = (sorted((f / "results" / kind).rglob("*.gz")) for f in (tmp_path, first))
        assert [gzip.decompress(p.read_bytes()) for p in ours] == [
            gzip.decompress(p.read_bytes()) for p in theirs
        ]


def test_a_trace_gives_the_record_again(first: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(first / "results" / "traces", source / "traces")
    run = replayed(first, tmp_path, source)
    assert run.returncode == 0, run.stderr
    assert full(tmp_path, *NAME) == full(first, *NAME)


@pytest.mark.parametrize("damage", ['"seconds":NaN', '"seconds":-1.0'])
@pytest.mark.parametrize("kind", ["archive", "traces"])
def test_a_time_that_cannot_be_is_one_sentence(first: Path, tmp_path: Path, kind: str, damage: str) -> None:
    source = tmp_path / "source"
    shutil.copytree(first / "results" / kind, source / kind)
    [path] = source.rglob("1.1.jsonl.gz")
    text = re.sub(r'"seconds":[0-9.e-]+', damage, gzip.decompress(path.read_bytes()).decode())
    path.write_bytes(gzip.compress(text.encode()))
    run = replayed(first, tmp_path, source, "trials=1")
    assert run.returncode == 1
    assert "question 1: a damaged line" in run.stderr
    assert "Traceback" not in run.stderr


def test_what_was_kept_of_another_question_is_refused(first: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(first / "results" / "archive", source / "archive")
    for path in source.rglob("2.1.jsonl.gz"):
        shutil.copy(path, path.with_name("1.1.jsonl.gz"))
    run = replayed(first, tmp_path, source, "trials=1")
    assert run.returncode == 1
    assert "another question was asked then" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_trace_gives_a_draw_among_many_ties_again(tmp_path: Path) -> None:
    """Version 2.0.0 draws among all that are equally likely, of which a trace lists five as likeliest."""
    settings = ("version=2.0.0", "trials=1")
    with FakeServer("uniform") as server:
        run = asked(server, *settings)
        assert beeline(tmp_path, *run).returncode == 0
    name = ("2.0.0", *NAME[1:])
    before = full(tmp_path, *name)
    assert before[0]["arms"]["model"]["ties"] > 5
    there = (tmp_path / "results").rename(tmp_path / "there")
    again = beeline(tmp_path, *run, f"model.replay={there}")
    assert again.returncode == 0, again.stderr
    assert full(tmp_path, *name) == before


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\x1f\x8b\x08junk",
        gzip.compress(b'{"model_id":"m"}\n{"asked":1}\n'),
        gzip.compress(b"", mtime=0)[:10] + b"\xff" * 20,  # no error of the operating system, but of zlib
    ],
)
def test_a_damaged_archive_is_one_sentence(first: Path, tmp_path: Path, damage: bytes) -> None:
    source = tmp_path / "source"
    shutil.copytree(first / "results" / "archive", source / "archive")
    for path in source.rglob("1.1.jsonl.gz"):
        path.write_bytes(damage)
    run = replayed(first, tmp_path, source, "trials=1")
    assert run.returncode == 1
    assert "1.1.jsonl.gz" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_stop_is_said_first_until_its_trials_are_done(first: Path, tmp_path: Path) -> None:
    assert replayed(first, tmp_path, first / "results").returncode == 0
    assert replayed(first, tmp_path, first / "results", "trials=5").returncode == 1
    assert len(full(tmp_path, *NAME)) == 4

    def report() -> str:
        command = [sys.executable, "-m", "tracking.report", "--results", str(tmp_path / "results")]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment(tmp_path), check=True, cwd=tmp_path
        )
        return done.stdout

    assert report().startswith("! 1.0.0/local/score/countdown.benchmark: stopped with 4 of 5 trials")
    assert replayed(first, tmp_path, first / "results").returncode == 0
    assert not report().startswith("!")


def test_sparrow_is_archived_and_replayed_too(tmp_path: Path) -> None:
    run = ["domain=countdown", "trials=2", "archive=on"]
    name = ("1.0.0", "sparrow", "score", "countdown.benchmark.jsonl")
    there, here = tmp_path / "there", tmp_path / "here"
    for folder in (there, here):
        folder.mkdir()
    assert beeline(there, *run).returncode == 0
    assert beeline(here, *run, f"model.replay={there / 'results'}").returncode == 0
    assert full(here, *name) == full(there, *name)


def test_a_deterministic_model_is_asked_once(tmp_path: Path) -> None:
    with FakeServer() as server:
        run = asked(server, "trials=2", "reuse=on", "model.deterministic=true")
        before = tmp_path / "before"
        before.mkdir()
        assert beeline(before, *run).returncode == 0
        came = server.requests
        assert came > 0
        # The same cache, another results folder.
        again = tmp_path / "again"
        again.mkdir()
        shutil.copytree(before / "answers", again / "answers")
        assert beeline(again, *run).returncode == 0
        assert server.requests == came
    ours, theirs = records(again, *NAME), records(before, *NAME)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine["arms"]["model"].pop("cached") == mine["arms"]["model"]["requests"]
        assert other["arms"]["model"].pop("cached") == 0
    assert ours == theirs


def test_unusable_answers_are_not_reused(tmp_path: Path) -> None:
    """docs/replay.md: refused and unusable answers are never kept."""
    with FakeServer("all_zero@5-8") as server:
        run = asked(server, "trials=1", "reuse=on", "model.deterministic=true")
        assert beeline(tmp_path, *run).returncode == 0
        assert full(tmp_path, *NAME)[0]["arms"]["model"]["invalid_answers"] == 4
        (tmp_path / "results").rename(tmp_path / "before")
        assert beeline(tmp_path, *run).returncode == 0
    arm = full(tmp_path, *NAME)[0]["arms"]["model"]
    assert arm["invalid_answers"] == 0
    assert 0 < arm["cached"] < arm["requests"]


def test_reuse_needs_a_promise(tmp_path: Path) -> None:
    with FakeServer() as server:
        run = beeline(tmp_path, *asked(server, "trials=1", "reuse=on"))
        assert run.returncode == 2
        assert "model.deterministic=true" in run.stderr
        assert server.requests == 0


def test_unclean_trials_run_again_and_only_cleaner_ones_stay(tmp_path: Path) -> None:
    with FakeServer("all_zero@3") as server:
        run = asked(server, "trials=4")
        assert beeline(tmp_path, *run).returncode == 0
    before = records(tmp_path, *NAME)
    dirty = {r["trial"] for r in before if r["arms"]["model"]["invalid_answers"]}
    assert dirty
    assert len(dirty) < 4
    with FakeServer("all_zero:0.5") as worse:
        assert beeline(tmp_path, *asked(worse, "trials=4", "rerun=unclean")).returncode == 0
    assert records(tmp_path, *NAME) == before
    with FakeServer() as clean:
        assert beeline(tmp_path, *asked(clean, "trials=4", "rerun=unclean")).returncode == 0
        assert clean.requests > 0
        latest = {r["trial"]: r for r in records(tmp_path, *NAME)}
        assert all(r["arms"]["model"]["invalid_answers"] == 0 for r in latest.values())
        assert all(latest[r["trial"]]["arms"] == r["arms"] for r in before if r["trial"] not in dirty)
        came = clean.requests
        assert beeline(tmp_path, *asked(clean, "trials=4", "rerun=unclean")).returncode == 0
        assert clean.requests == came


def test_untraced_trials_run_again(tmp_path: Path) -> None:
    run = ["domain=countdown", "model=first_option", "trials=3"]
    assert beeline(tmp_path, *run).returncode == 0
    gone = next((tmp_path / "results" / "traces").rglob("2.1.jsonl.gz"))
    content = gone.read_bytes()
    gone.unlink()
    assert beeline(tmp_path, *run).returncode == 0
    assert not gone.exists()
    assert beeline(tmp_path, *run, "rerun=untraced").returncode == 0
    assert b'"step":1' in gzip.decompress(gone.read_bytes())
    assert len(gzip.decompress(content)) > 0


def test_untraced_trials_are_not_run_for_nothing(tmp_path: Path) -> None:
    run = ["domain=countdown", "model=first_option", "trials=1", "traces=off"]
    assert beeline(tmp_path, *run).returncode == 0
    refused = beeline(tmp_path, *run, "rerun=untraced")
    assert (refused.returncode, "set traces=on" in refused.stderr) == (2, True)
    baseline = ["domain=countdown", "study=baseline", "trials=1"]
    for more in ([], ["rerun=untraced"]):
        assert beeline(tmp_path, *baseline, *more).returncode == 0
    [path] = (tmp_path / "results").glob("*/*/baseline/*.jsonl")
    assert len(path.read_text("utf-8").splitlines()) == 1
