"""What of Clef's weights needs no torch: settings, batches, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.errors import SettingError
from beeline.model import make_model
from protocols.clef import Clef, ClefWeights
from protocols.clef_release import CODE_FILE, groups, load_code
from protocols.systemone import SystemOne

WEIGHTS: dict[str, Any] = {
    "repository": "Cloudflare/clef",
    "revision": "0b331204bb13fbd2ca93a64df1956f5b55478ce5",
}
HOSTED: dict[str, Any] = {
    "name": "clef",
    "target": "protocols.clef:Clef",
    "base_url": "http://127.0.0.1:9/v1",
    "id": "clef",
}


@given(
    st.dictionaries(st.integers(0, 50), st.integers(1, 1000), max_size=30),
    st.integers(1, 5000),
)
def test_batches_hold_each_once_within_the_budget(lengths: dict[int, int], budget: int) -> None:
    found = groups(lengths, budget)
    assert sorted(key for group in found for key in group) == sorted(lengths)
    for group in found:
        longest = max(lengths[key] for key in group)
        assert len(group) == 1 or len(group) * longest <= budget
    flat = [lengths[key] for group in found for key in group]
    assert flat == sorted(flat, reverse=True)


def test_hosted_and_weights_are_two_models() -> None:
    hosted = make_model(HOSTED)
    weights = make_model({**HOSTED, "backend": "weights", "weights": WEIGHTS})
    assert isinstance(hosted, SystemOne)
    assert isinstance(weights, ClefWeights)
    assert (hosted.name, hosted.model_id) == ("clef", "clef")
    assert (weights.name, weights.model_id) == ("clef_weights", "Cloudflare/clef@0b331204bb13")
    assert weights.caps() is None
    assert not weights.deterministic


def test_a_folder_is_in_no_record() -> None:
    weights = make_model({**HOSTED, "backend": "weights", "weights": {**WEIGHTS, "folder": "/secret/place"}})
    assert "/secret/place" not in repr(weights)
    assert weights.describe()["revision"] == WEIGHTS["revision"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"backend": "cloud"}, "model.backend='cloud' must be hosted or weights"),
        ({"backend": "weights"}, "model.weights.repository is not set"),
        ({"backend": "weights", "weights": {**WEIGHTS, "revison": "x"}}, "model.weights.revison"),
        ({"backend": "weights", "weights": {**WEIGHTS, "batch": 0}}, "model.weights.batch=0"),
        ({"backend": "weights", "weights": "folder"}, "must be a mapping"),
        ({"backend": "weights", "weights": WEIGHTS, "timeout": 3}, "model.timeout"),
    ],
)
def test_bad_settings(more: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said.replace("[", r"\[")):
        make_model({**HOSTED, **more})


def test_a_folder_without_a_release_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / CODE_FILE).write_text("")
    with pytest.raises(SettingError, match=r"joint_head_config\.json, joint_head\.safetensors not there"):
        load_code(tmp_path)


def test_code_that_does_not_run_is_a_setting_error(tmp_path: Path) -> None:
    for name, text in ((CODE_FILE, "import nothing_of_that_name"), ("joint_head_config.json", "{}")):
        (tmp_path / name).write_text(text)
    (tmp_path / "joint_head.safetensors").write_text("")
    for _ in range(2):  # a module that failed is not kept
        with pytest.raises(SettingError, match=r"ModuleNotFoundError.*beeline-bench\[clef\]"):
            load_code(tmp_path)


def test_packages_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protocols.clef.find_spec", lambda name: None)
    model = Clef.from_settings("clef", {**HOSTED_ONLY, "backend": "weights", "weights": WEIGHTS})
    with pytest.raises(SettingError, match=r"needs torch, transformers.*engine=ray"):
        model.check()


HOSTED_ONLY = {key: value for key, value in HOSTED.items() if key not in ("name", "target")}
