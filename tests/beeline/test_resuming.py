"""What may differ between a run and the one that resumes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from beeline.errors import SettingError
from beeline.resuming import check_resumed
from tests.commands import beeline

NOW: dict[str, Any] = {
    "model": {"name": "m", "url": "http://a/v1", "temperature": 0, "concurrency": 4, "served_names": ("x",)},
    "conditions": [
        {"name": "benchmark", "repeats": 1},
        {"name": "own", "repeats": 1, "wording": {"task": "a"}},
    ],
}


def saved(folder: Path, **model: Any) -> Path:
    path = folder / "spec.json"
    path.write_text(json.dumps(NOW | {"model": NOW["model"] | model}))
    return path


def test_the_same_says_nothing(tmp_path: Path) -> None:
    assert check_resumed(saved(tmp_path), NOW, "own") is None
    assert check_resumed(saved(tmp_path, concurrency=9), NOW, "own") is None


def test_another_host_or_temperature_is_noted(tmp_path: Path) -> None:
    note = check_resumed(saved(tmp_path, url="http://b/v1", temperature=1), NOW, "benchmark")
    assert note is not None
    assert "temperature: 1 -> 0" in note
    assert "http://b/v1" in note


def test_more_repeats_are_the_same_condition_and_other_words_are_not(tmp_path: Path) -> None:
    path = saved(tmp_path)
    own = {"name": "own", "repeats": 5, "wording": {"task": "a"}}
    assert check_resumed(path, NOW | {"conditions": [own]}, "own") is None
    own["wording"] = {"task": "b"}
    with pytest.raises(SettingError, match=r'wording\.task: "a" -> "b"'):
        check_resumed(path, NOW | {"conditions": [own]}, "own")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"conditions": 3}', '{"model": 3}'])
def test_a_damaged_file_says_nothing(text: str, tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    assert check_resumed(path, NOW, "own") is None
    path.write_text(text)
    check_resumed(path, NOW, "own")


def test_an_edited_wording_of_ones_own_is_refused(tmp_path: Path) -> None:
    words = tmp_path / "mine.yaml"
    words.write_text("instructions: Which one is nearest?\n")
    run = ["domain=keys_doors", "model=first_option", "study=wording_sensitivity", "study.wordings=[plain]"]
    run += [f"study.file={words}"]
    assert beeline(tmp_path, *run, "trials=1").returncode == 0
    assert beeline(tmp_path, *run, "trials=2").returncode == 0
    words.write_text("instructions: Which one is furthest?\n")
    done = beeline(tmp_path, *run, "trials=3")
    assert done.returncode == 2
    assert "made with other settings" in done.stderr
