"""What a sweep was, on file: the same jobs are the same sweep, and no secret is in it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from beeline.errors import StorageError
from beeline.sweep_record import SweepJob, SweepRecord, masked_override, read_sweeps


def job(domain: str = "tiles", model: str = "sparrow", **more: object) -> SweepJob:
    fields: dict[str, object] = {
        "version": "1.0.0",
        "domain": domain,
        "model": model,
        "study": "score",
        "suite": "navigation",
        "state": "done",
        "reason": None,
        "finished": 5,
        "wanted": 5,
    }
    return SweepJob(**(fields | more))  # type: ignore[arg-type]


def sweep(*jobs: SweepJob, **more: object) -> SweepRecord:
    fields: dict[str, object] = {
        "overrides": ("domain=tiles,countdown", "trials=5"),
        "started_utc": "2026-12-01T10:00:00.000Z",
        "finished_utc": "2026-12-01T10:05:00.000Z",
        "code": "1.2.3",
    }
    return SweepRecord(jobs, **(fields | more))  # type: ignore[arg-type]


def test_the_same_jobs_are_the_same_sweep_whatever_became_of_them() -> None:
    one = sweep(job(), job("countdown"))
    again = sweep(
        job("countdown", state="failed", reason="no key", finished=0), job(), started_utc="2027", overrides=()
    )
    assert one.id == again.id
    assert len(one.id) == 12
    for other in (job("rush_hour"), job("countdown", "jev"), job("countdown", version="2.0.0")):
        assert sweep(job(), other).id != one.id


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    first = sweep(job(), job("countdown", state="stopped", reason="cap reached: ü", finished=2))
    later = sweep(job("rush_hour"), started_utc="2026-12-02T00:00:00.000Z")
    later.write(tmp_path)
    assert first.write(tmp_path) == tmp_path / "sweeps" / f"{first.id}.json"
    reading = read_sweeps(tmp_path)
    assert reading.sweeps == (first, later)
    assert reading.notes == ()
    resumed = replace(first, jobs=(job(), job("countdown")))
    resumed.write(tmp_path)
    assert read_sweeps(tmp_path).sweeps == (resumed, later)
    assert {path.name for path in (tmp_path / "sweeps").iterdir()} == {f"{first.id}.json", f"{later.id}.json"}


def test_files_that_are_no_sweep_are_noted_and_passed_over(tmp_path: Path) -> None:
    assert read_sweeps(tmp_path).sweeps == ()
    good = sweep(job())
    text = good.write(tmp_path).read_text("utf-8")
    folder = tmp_path / "sweeps"
    hydra = folder / "2026-12-01T10-00-00"
    hydra.mkdir()
    (hydra / "multirun.yaml").write_text("hydra: {}\n")
    data = json.loads(text)
    wrong = {
        "torn": text[: len(text) // 2],
        "copy": text,
        "newer": json.dumps(data | {"schema": 2}),
        "list": "[]",
        "less": json.dumps(data | {"jobs": [{"domain": "tiles"}]}),
        "state": json.dumps(data | {"jobs": [data["jobs"][0] | {"state": "lost"}]}),
        "kind": json.dumps(data | {"jobs": [data["jobs"][0] | {"finished": "5"}]}),
    }
    for name, content in wrong.items():
        (folder / f"{name}.json").write_text(content)
    (folder / "bytes.json").write_bytes(b"\xff\xfe")
    more = folder / f"{good.id}.json"
    more.write_text(json.dumps(data | {"later": 1, "jobs": [data["jobs"][0] | {"node": "a"}]}))
    reading = read_sweeps(tmp_path)
    assert reading.sweeps == (good,)
    assert len(reading.notes) == len(wrong) + 1
    for name in (*wrong, "bytes"):
        assert sum(f"/{name}.json is passed over" in note for note in reading.notes) == 1


@pytest.mark.parametrize(
    "text",
    [
        "model.api_key=hush-hush",
        "+model.apiKey=hush-hush",
        "++plug.ACCESS_TOKEN=hush-hush",
        "model.key_variable=hush-hush",
        "+model.headers={Authorization: Bearer hush-hush}",
        "+model.extra={api_key: hush-hush}",
        "model.url=https://host/v1?token=hush-hush",
        "tracking.uri=http://me:hush-hush@host:5000/x",
        "model.model_id=sk-hush-hush0123456789abcdef",
        "+db.password=hush-hush",
    ],
)
def test_secrets_of_a_command_line_are_masked(text: str, tmp_path: Path) -> None:
    assert masked_override(masked_override(text)) == masked_override(text)
    record = sweep(job(), overrides=(text,))
    assert record.overrides[0].startswith(text.partition("=")[0] + "=")
    assert "hush" not in record.write(tmp_path).read_text("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "domain=keys_doors,tiles",
        "model.max_tokens=5",
        "spend.max_tokens=100000",
        "model.max_output_tokens=64",
        "model.model_id=pplx-decider-v1.1-27b",
        "model=jev,pplx_decider_flash,sparrow",
        "model.url=http://127.0.0.1:8000/v1",
        "~spend",
    ],
)
def test_other_values_stay(text: str) -> None:
    assert masked_override(text) == text


def test_flags_are_no_overrides_and_users_in_urls_no_reasons() -> None:
    record = sweep(
        job(state="failed", reason="no answer from http://me:pw@host"), overrides=("-m", "trials=5")
    )
    assert record.overrides == ("trials=5",)
    assert record.jobs[0].reason == "no answer from http://***@host"


def test_states_are_counted_and_others_refused() -> None:
    jobs = [job(), job("a"), job("b", state="failed", finished=0), job("c", state="left out", finished=0)]
    assert list(sweep(*jobs).counts.items()) == [("done", 2), ("failed", 1), ("left out", 1)]
    assert [j.ran for j in jobs] == [True, True, False, False]
    assert job(state="stopped", finished=1).ran
    with pytest.raises(ValueError, match="lost"):
        job(state="lost")


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "sweeps").write_text("a file")
    with pytest.raises(StorageError, match="results=DIR"):
        sweep(job()).write(tmp_path)
