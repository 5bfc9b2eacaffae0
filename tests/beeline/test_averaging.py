"""Asking in several orders: what is asked, what comes of it, what it costs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.averaging import Averaging, orders_of
from beeline.errors import SettingError
from beeline.model import Model, make_model
from beeline.question import YES_NO, Answer, Question
from tests.commands import beeline, records

FIRST = {"name": "first", "target": "protocols.first_option:FirstOption"}


class Placed(Model):
    """Likes early places: the first gets n, the last 1. Keeps what it was asked."""

    name, model_id = "placed", "placed-1"
    kinds = ("choice", "noul")

    def __init__(self, bad: int | None = None) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.bad = bad

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Model:
        return cls()

    def describe(self) -> dict[str, Any]:
        return {}

    def answer_now(self, question: Question) -> Answer:
        self.asked.append(question.options)
        if self.bad == len(self.asked):
            return Answer(refused=True, input_tokens=7, cost_usd=0.5, served_model="m")
        size = len(question.options)
        weights = {option: size - place for place, option in enumerate(question.options)}
        return Answer(weights, input_tokens=10, output_tokens=1, cost_usd=0.5, seconds=2.0, served_model="m")

    async def answer(self, question: Question) -> Answer:
        return self.answer_now(question)


def question(*options: str) -> Question:
    return Question("task", "goal", "context", "Which?", options)


@given(st.lists(st.text(), min_size=2, max_size=12, unique=True), st.integers(2, 9))
def test_orders_hold_all_options_and_depend_on_the_question_alone(options: list[str], count: int) -> None:
    asked = question(*options)
    orders = orders_of(asked, count)
    assert len(orders) == count
    assert all(Counter(order) == Counter(options) for order in orders)
    assert orders[0] == asked.options
    assert orders[1] == asked.options[::-1]
    assert orders == orders_of(asked, count)
    assert orders[:2] == orders_of(asked, 2)


def test_two_orders_take_a_liking_of_places_out() -> None:
    inner = Placed()
    answer = Averaging(inner, 2).answer_now(question("a", "b", "c", "d"))
    assert inner.asked == [("a", "b", "c", "d"), ("d", "c", "b", "a")]
    assert isinstance(answer.probabilities, Mapping)
    assert answer.probabilities == pytest.approx(dict.fromkeys("abcd", 0.25))
    assert (answer.input_tokens, answer.output_tokens, answer.cost_usd) == (20, 2, 1.0)
    assert answer.seconds == 4.0
    assert answer.served_model == "m"


def test_in_a_loop_it_is_the_same() -> None:
    asked = question("a", "b", "c")
    now = Averaging(Placed(), 5).answer_now(asked)
    assert asyncio.run(Averaging(Placed(), 5).answer(asked)) == now


@pytest.mark.parametrize("bad", [1, 2, 3])
def test_one_unusable_reply_is_the_answer_and_nothing_more_is_asked(bad: int) -> None:
    inner = Placed(bad)
    answer = Averaging(inner, 3).answer_now(question("a", "b", "c"))
    assert answer.refused
    assert len(inner.asked) == bad
    assert answer.cost_usd == 0.5 * bad  # what was paid counts
    assert answer.input_tokens == 10 * (bad - 1) + 7


def test_other_kinds_are_asked_once() -> None:
    inner = Placed()
    Averaging(inner, 4).answer_now(Question("t", "g", "c", "Is it?", YES_NO, "noul"))
    assert inner.asked == [YES_NO]


def test_it_is_another_model() -> None:
    assert make_model(FIRST | {"orders": 1}).name == "first"
    model = make_model(FIRST | {"orders": 3})
    assert model.name == "first_orders3"
    assert model.model_id != make_model(FIRST).model_id
    assert model.describe()["orders"] == 3


@pytest.mark.parametrize("count", [0, -1, 65, 2.0, True, "2"])
def test_bad_counts(count: Any) -> None:
    with pytest.raises(SettingError, match="a whole number from 1 to 64"):
        make_model(FIRST | {"orders": count})


def test_a_run_and_its_replay(tmp_path: Path) -> None:
    (tmp_path / "liking.py").write_text(
        "def early(question):\n    return [1 / (2 + place) for place in range(len(question.options))]\n"
    )
    model = ["model=python", "model.function=liking:early", "plugins=[liking]", "model.id=early"]
    run = ["domain=keys_doors", "trials=2", "version.max_expansions=30", "custom=short", *model]
    run += ["model.name=early", "model.orders=2"]
    assert beeline(tmp_path, *run, "archive=on").returncode == 0
    path = ("custom-short", "early_orders2", "score", "keys_doors.benchmark.jsonl")
    found = records(tmp_path, *path)
    assert len(found) == 2
    # All options alike in two orders: each decision is a tie.
    assert all(r["arms"]["model"]["ties"] == r["arms"]["model"]["requests"] > 0 for r in found)
    (tmp_path / "liking.py").write_text("def early(question):\n    raise RuntimeError('asked again')\n")
    again = tmp_path / "again"
    again.mkdir()
    (again / "liking.py").write_text((tmp_path / "liking.py").read_text())
    done = beeline(again, *run, f"model.replay={tmp_path / 'results'}")
    assert done.returncode == 0, done.stderr
    replayed = records(again, *path)
    for record in (*found, *replayed):
        del record["spec"]
    assert replayed == found
