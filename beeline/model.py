"""The contract of a model: what the engine asks, and what whoever adds a model must write.

A model is made once per process from its resolved config (``conf/model/NAME.yaml``), asked many
questions and closed. Its ``placement`` tells the engine how to ask:

* ``loop``: the model waits for others (a network, a coroutine). The engine keeps ``concurrency``
  trials in flight in one event loop and awaits :meth:`Model.answer`.
* ``worker``: the model computes. The engine spreads trials over worker processes, and each calls
  :meth:`Model.answer_now` from its main thread, one question at a time.

Making a model touches no network and loads no weights, so that a plan can be checked quickly.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from beeline.errors import SettingError
from beeline.question import Answer, Kind, Question
from beeline.records import Cell
from beeline.resolver import resolve
from beeline.services import Caps, Services

__all__ = ["RESERVED_NAMES", "Model", "Placement", "make_model"]

Placement = Literal["loop", "worker"]

#: Names that records, reports or draws paths use for something else than a model.
RESERVED_NAMES = ("heuristic", "none", "oracle", "random")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Model(ABC):
    """One model. Subclasses set the fields below in ``__init__`` and override one ``answer``."""

    name: str
    """Short name, as in records and file names."""
    model_id: str
    """The name the API is asked for; it is part of the draws paths of the model arm."""
    max_options: int = 255
    """The most options one question may have. Never worked around by leaving options out."""
    placement: Placement = "loop"
    concurrency: int = 1
    """Trials in flight in one process (``loop`` only)."""
    at_home: bool = False
    """Asked in the process that runs the command, since it reads files that only that may have."""
    needs: Mapping[str, Any] = {}
    """Its placement (beeline.placement) where the user says none and the engine can place it."""
    elsewhere: str = ""
    """Where else it can be asked: what an error says when no node fits it."""
    deterministic: bool = False
    """The same question always gets the same answer, so that answers may be reused."""
    kinds: tuple[Kind, ...] = ("choice",)
    """The kinds of question it can be asked."""
    suites: ClassVar[tuple[str, ...]] = ("navigation",)
    """The suites whose questions this model can be asked."""

    @classmethod
    @abstractmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Model:
        """Make the model from its settings (those of its YAML, ``name`` and ``target`` left out).

        ``plugins`` are the packages a config may import from, besides our own. Raises
        SettingError for an unknown, missing or impossible setting.
        """

    def check(self) -> None:  # noqa: B027 - optional, not abstract
        """Raise SettingError when something the model needs is absent (a key, a package, weights).

        Called before anything runs; quick, and nothing is sent.
        """

    def secret_variables(self) -> tuple[str, ...]:
        """The names of the variables that hold its keys: settings whose names end in _variable."""
        named = (value for key, value in self.describe().items() if key.endswith("_variable"))
        return tuple(value for value in named if isinstance(value, str))

    def attach(self, services: Services) -> None:  # noqa: B027 - optional, not abstract
        """Take what the run lends; called before :meth:`open`."""

    def caps(self) -> Caps | None:
        """The model's own caps; None when asking it costs nothing and is not counted."""
        return None

    async def open(self) -> None:  # noqa: B027 - optional, not abstract
        """Get ready inside the event loop that will ask (``loop`` only); called once."""

    async def close(self) -> None:  # noqa: B027 - optional, not abstract
        """Release what :meth:`open` took; calling it twice, or unopened, is harmless."""

    def for_trial(self, cell: Cell, trial: int, repeat: int) -> Model:
        """Whom a trial asks: this model, unless answers depend on the trial (a replay)."""
        return self

    def reread(self, body: bytes, question: Question) -> Answer:
        """The answer in an archived reply's body; models that keep bodies override it. Raises
        ValueError where there is no such thing."""
        raise ValueError(f"model {self.name} keeps no reply bodies")

    async def answer(self, question: Question) -> Answer:
        """Answer inside the event loop; called by many trials at once.

        Raises ModelError when the model cannot be used at all. An answer that says nothing of
        the options is no error: it is returned as it came, and the arm counts it.
        """
        raise NotImplementedError(f"{type(self).__name__} is asked with answer_now()")

    def answer_now(self, question: Question) -> Answer:
        """Answer in a worker process, from its main thread; otherwise as :meth:`answer`."""
        raise NotImplementedError(f"{type(self).__name__} is asked with answer()")

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The settings for records and tracking: a flat mapping of JSON values, never a secret."""

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in self.describe().items())
        return f"{type(self).__name__}(name={self.name!r}, {settings})"


def make_model(config: Mapping[str, Any], plugins: Sequence[str] = ()) -> Model:
    """Make the model that a resolved ``model`` config describes.

    ``config`` holds ``name``, ``target`` (``package.module:Class``) and the settings of that
    class; ``orders`` (how many to average over), ``replay`` (a results folder to answer from) and
    ``reuse`` (the file of an answer cache) wrap it. Raises SettingError for a bad name or target and
    whatever the class refuses.
    """
    settings = dict(config)
    name, target = settings.pop("name", None), settings.pop("target", None)
    replay, reuse = settings.pop("replay", None), settings.pop("reuse", None)
    orders = settings.pop("orders", None)
    settings.pop("placement", None)  # the engine's business
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SettingError(
            f"model.name={name!r} cannot name records: use letters, digits, '.', '_' and '-', "
            "starting with a letter or digit, at most 100"
        )
    if name in RESERVED_NAMES:
        raise SettingError(
            f"model.name={name} means something else in results; choose another "
            f"(not {', '.join(RESERVED_NAMES)})"
        )
    if not isinstance(target, str):
        raise SettingError(f"model.target={target!r} does not name a class: write package.module:Class")
    made = resolve(target, plugins)
    if not (isinstance(made, type) and issubclass(made, Model)):
        raise SettingError(
            f"model.target={target} is not a model: its class must derive from beeline.model.Model"
        )
    model = made.from_settings(name, settings, tuple(plugins))
    if orders is not None and (orders != 1 or isinstance(orders, bool)):
        from beeline.averaging import Averaging

        model = Averaging(model, orders)
    if replay is not None:
        from beeline.replay import Replay

        return Replay(model, Path(str(replay)))
    if reuse is not None:
        from beeline.answers import Reusing

        return Reusing(model, Path(str(reuse)))
    return model
