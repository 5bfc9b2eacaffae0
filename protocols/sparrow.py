"""sparrow-decider in process: a small real decision model, numpy only, weights in its wheel.

Asked through ``Decider.ask``, the package's public contract and what its own server answers
with, so that ``model=sparrow`` and ``model=local`` against ``sparrow-decider serve`` give the same
records. That contract rounds to four decimals: with 255 options about 25 different
values are left and ties are frequent, which the arm counts. Deterministic, independent of the
order of options; BLAS is held to one thread so that the number of cores cannot change a sum.

Measured, one thread, over questions whose texts came before (benchmarks/model_side.py): 0.2 ms for 2
options, 0.5 ms for 50, 1.3 ms for 255; a text that is new takes 20 microseconds more.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from beeline.errors import ModelError, SettingError, nearest
from beeline.model import Model
from beeline.question import KINDS, Answer, Question
from protocols.settings import read_settings, setting

__all__ = ["Sparrow", "SparrowSettings"]

QUESTION_ID = "choose"
_TEXTS = 1 << 14
"""Texts remembered, some 20 MB."""


@dataclass(frozen=True, kw_only=True)
class SparrowSettings:
    """The settings of ``conf/model/sparrow.yaml``."""

    weights: str
    """A model of the package by name (``sparrow-decider models`` lists them), or a file."""
    id: str
    """The name that the weights carry; other weights under this name are refused."""
    max_options: int = setting(255, least=2)


class Sparrow(Model):
    """A sparrow-decider model, loaded at the first question."""

    placement = "worker"
    deterministic = True
    kinds = KINDS

    def __init__(self, name: str, settings: SparrowSettings) -> None:
        self.name = name
        self.model_id = settings.id
        self.max_options = settings.max_options
        self.settings = settings
        self._decider: Any = None
        self._blas: Any = None

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Sparrow:
        """Read the settings; weights are loaded later."""
        return cls(name, read_settings(SparrowSettings, settings))

    def check(self) -> None:
        """See that package and weights are there, without loading them."""
        try:
            from sparrow_decider import available_models
        except ImportError:
            raise SettingError(
                "the model sparrow needs the package sparrow-decider, which is not installed: "
                "type pip install 'sparrow-decider>=0.2,<0.3'"
            ) from None
        weights = self.settings.weights
        if not Path(weights).is_file() and weights not in available_models():
            raise SettingError(
                f"model.weights={weights!r} is neither a file nor a sparrow model: "
                f"{nearest(weights, available_models())}"
            )

    def answer_now(self, question: Question) -> Answer:
        """Ask the package; the first call loads the weights (0.2 s)."""
        if self._decider is None:
            self._load()
        state = {"task": question.task, "goal": question.goal, "context": question.context}
        asked: dict[str, Any] = {"type": question.kind, "instructions": question.instructions}
        if question.kind == "choice":
            asked["criteria"] = dict.fromkeys(question.options)
        elif question.kind == "score":
            asked["criteria"] = list(question.options)
        started = time.perf_counter()
        with self._blas.limit(limits=1, user_api="blas"):  # 6 microseconds
            given = self._decider.ask(state, {QUESTION_ID: asked})[QUESTION_ID]
        return Answer(
            _probabilities(given, question),
            # It counts no tokens, and nobody charges for it.
            cost_usd=0.0,
            served_model=self.model_id,
            seconds=time.perf_counter() - started,
            choice=given.get("choice"),
        )

    def describe(self) -> dict[str, Any]:
        """The settings."""
        return {
            "protocol": "sparrow",
            "id": self.model_id,
            "weights": self.settings.weights,
            "max_options": self.max_options,
        }

    def _load(self) -> None:
        from sparrow_decider import Decider
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

        self.check()
        decider = Decider.load(self.settings.weights)
        if decider.name != self.model_id:
            raise ModelError(
                f"model.weights={self.settings.weights} holds {decider.name}, not {self.model_id}: "
                f"set model.id={decider.name} if those are the weights you mean"
            )
        _remember_texts(decider)
        self._decider = decider
        self._blas = ThreadpoolController()


def _remember_texts(decider: Any) -> None:
    """Keep what the decider makes of each text. The frontiers of a search overlap, so that nearly
    every option was in the question before: three to five times as many questions a second
    (benchmarks/model_side.py). A decider built otherwise is left as it is."""
    static = getattr(decider, "static", None)
    pool = getattr(static, "_pool", None)
    if not callable(pool):
        return

    @lru_cache(_TEXTS)
    def remembered(text: str) -> Any:
        vector = pool(text)
        vector.flags.writeable = False  # shared from now on
        return vector

    static._pool = remembered  # type: ignore[union-attr]


def _probabilities(given: Mapping[str, Any], question: Question) -> dict[str, float]:
    """By option: a noul is one number, a score's are by level number."""
    if question.kind == "noul":
        yes = float(given["noul"])
        return dict(zip(question.options, (yes, 1.0 - yes), strict=True))
    found: dict[str, float] = given["probabilities"]
    if question.kind == "score":
        return {level: found[str(number)] for number, level in enumerate(question.options)}
    return found
