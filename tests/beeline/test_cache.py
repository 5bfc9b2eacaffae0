"""The trial cache: what is no result of a trial is computed again and replaced."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from beeline.worker import TrialTask, cached_offline, run_offline
from tests.plans import plan


def altered(**fields: Any) -> Callable[[dict[str, Any]], str]:
    return lambda result: json.dumps(result | fields)


def without(key: str) -> Callable[[dict[str, Any]], str]:
    return lambda result: json.dumps({name: value for name, value in result.items() if name != key})


@pytest.mark.parametrize(
    "content",
    [
        without("arms"),
        without("instance"),
        without("shortest_path"),
        altered(arms=None),
        altered(arms={}),
        altered(arms={"oracle": {}, "heuristic": {}, "random": {}}),
        altered(arms={"oracle": 1, "heuristic": 1, "random": 1}),
        lambda _: "[]",
        lambda _: "no json",
        lambda _: "",
    ],
)
def test_a_whole_file_that_holds_no_result_is_replaced(
    tmp_path: Path, content: Callable[[dict[str, Any]], str]
) -> None:
    cached = replace(plan("countdown"), cache=str(tmp_path))
    result = run_offline(TrialTask(cached, 3))
    assert cached_offline(cached, 3) == result
    (path,) = tmp_path.rglob("3.json")
    right = path.read_bytes()

    body = content(result)
    path.write_text(f"{sha256(body.encode()).hexdigest()}\n{body}", "utf-8")
    assert cached_offline(cached, 3) is None
    assert run_offline(TrialTask(cached, 3)) == result
    assert path.read_bytes() == right


def test_a_world_has_fields_of_its_own(tmp_path: Path) -> None:
    from beeline.cache import WORLD_CORE, TrialCache

    cache = TrialCache(tmp_path, "d" * 16, "basket_assembly", __name__, WORLD_CORE)
    arms = {arm: {"exact": True} for arm in ("oracle", "heuristic", "random")}
    result = {"world": "w", "instance": {}, "arms": arms}
    cache.put(1, result)
    assert cache.get(1) == result
    cache.put(1, {"instance": {}, "arms": arms})
    assert cache.get(1) is None
