"""A Python function as a model: it takes a Question and returns what it thinks of the options.

It may return an Answer, a mapping from option to probability, or one probability per option in
the order shown (a numpy array will do). ``def`` is asked in worker processes, ``async def`` in the
event loop, many questions at a time. Numbers that mean nothing (NaN, too few) are an unusable
answer, which the arm counts; an exception, a wrong type or no answer in time ends the run.

The time limit of a ``def`` is an alarm signal, so even an endless loop in Python ends; one inside
C code (a single huge numpy call) ends only when that call returns.
"""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beeline.errors import ModelError, SettingError, nearest
from beeline.model import Model
from beeline.question import KINDS, Answer, Question
from beeline.resolver import resolve
from protocols.failures import clean
from protocols.settings import read_settings, setting

__all__ = ["PythonModel", "PythonSettings"]


@dataclass(frozen=True, kw_only=True)
class PythonSettings:
    """The settings of ``conf/model/python.yaml``."""

    function: str = setting(
        missing="Name your function and trust its module: "
        "python -m beeline model=python model.function=my_module:decide plugins=[my_module]"
    )
    """``module:name`` of a function that takes a beeline.question.Question."""
    id: str | None = setting(None)
    """Its name in records and draws paths; the function's own when null."""
    timeout_s: float = setting(60.0, above=0, most=86_400)
    """For one question."""
    concurrency: int = setting(16, least=1, most=4096)
    """Questions in flight, for an ``async def``."""
    kinds: tuple[str, ...] = setting(("choice",))
    """The kinds of question that the function answers: it reads ``question.kind``."""
    max_options: int = setting(255, least=2)


class _TimeUp(BaseException):
    """Not an Exception, so that a function's own ``except Exception`` does not swallow it."""


class PythonModel(Model):
    """A function named in the config."""

    def __init__(self, name: str, settings: PythonSettings, function: Callable[[Question], Any]) -> None:
        self.name = name
        self.model_id = settings.id or settings.function
        self.max_options = settings.max_options
        self.concurrency = settings.concurrency
        self.kinds = tuple(kind for kind in KINDS if kind in settings.kinds)
        self.settings = settings
        self._function = function
        self._asynchronous = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
        )
        self.placement = "loop" if self._asynchronous else "worker"

    @classmethod
    def from_settings(
        cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()
    ) -> PythonModel:
        """Import the function, whose module must be among ``plugins``."""
        read = read_settings(PythonSettings, settings)
        for kind in read.kinds:
            if kind not in KINDS:
                raise SettingError(f"model.kinds holds {kind!r}: {nearest(kind, KINDS)}")
        try:
            function = resolve(read.function, plugins)
        except SettingError as error:
            raise SettingError(f"model.function={read.function}: {error}") from error
        except Exception as error:
            # The user's module failed while it was imported; where is in the chained traceback.
            raise SettingError(
                f"model.function={read.function}: importing its module raised {_named(error)}"
            ) from error
        if not callable(function):
            raise SettingError(
                f"model.function={read.function} is of type {type(function).__name__}, not a function"
            )
        return cls(name, read, function)

    def answer_now(self, question: Question) -> Answer:
        """Call a ``def`` under the time limit; only in the main thread, where alarms arrive."""
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("a Python model is asked in the main thread of its process")
        started = time.perf_counter()
        try:
            with _alarm(self.settings.timeout_s):
                returned = self._function(question)
        except _TimeUp:
            raise self._too_late() from None
        except Exception as error:
            raise self._raised(error) from error
        seconds = time.perf_counter() - started
        if seconds > self.settings.timeout_s:  # it swallowed the alarm, or was in C code
            raise self._too_late()
        return self._answer(returned, seconds)

    async def answer(self, question: Question) -> Answer:
        """Await an ``async def`` under the time limit."""
        started = time.perf_counter()
        limit = asyncio.timeout(self.settings.timeout_s)
        try:
            async with limit:
                awaited: Awaitable[Any] = self._function(question)
                returned = await awaited
        except Exception as error:
            if isinstance(error, TimeoutError) and limit.expired():
                raise self._too_late() from None
            raise self._raised(error) from error
        return self._answer(returned, time.perf_counter() - started)

    def describe(self) -> dict[str, Any]:
        """The settings."""
        return {
            "protocol": "python",
            "id": self.model_id,
            "function": self.settings.function,
            "timeout_s": self.settings.timeout_s,
            "concurrency": self.concurrency,
            "max_options": self.max_options,
        }

    def _answer(self, returned: Any, seconds: float) -> Answer:
        if isinstance(returned, Answer):
            returned.probabilities = self._plain(returned.probabilities)
            returned.seconds = returned.seconds or seconds
            return returned
        return Answer(self._plain(returned), seconds=seconds)

    def _plain(self, returned: Any) -> dict[str, Any] | list[Any]:
        """Probabilities as plain Python numbers, which is what traces can hold."""
        if isinstance(returned, Mapping):
            return {option: _number(value) for option, value in returned.items()}
        if not isinstance(returned, str | bytes):
            if isinstance(returned, Sequence):
                return [_number(value) for value in returned]
            as_list = getattr(returned, "tolist", None)  # numpy arrays and their kin
            if callable(as_list):
                values = as_list()
                if isinstance(values, list):
                    return [_number(value) for value in values]
        if inspect.iscoroutine(returned):
            returned.close()  # else Python warns that it was never awaited
        raise ModelError(
            f"the function {self.settings.function} returned {_article(type(returned).__name__)}; it must "
            "return an Answer, a mapping from option to probability, or one probability per option"
        )

    def _raised(self, error: Exception) -> ModelError:
        return ModelError(f"the function {self.settings.function} raised {_named(error)}{_place(error)}")

    def _too_late(self) -> ModelError:
        return ModelError(
            f"the function {self.settings.function} did not answer within {self.settings.timeout_s:g} s "
            "(model.timeout_s)"
        )


def _number(value: Any) -> Any:
    """A plain float, also from numpy's; anything that is no number becomes NaN, which counts 0."""
    if isinstance(value, float):
        return float(value)
    if isinstance(value, bool | str | bytes):
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
    except OverflowError:
        return float("inf")


def _named(error: BaseException) -> str:
    text = clean(str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _place(error: BaseException) -> str:
    """Where it was raised: the innermost line, as a file's name and number."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" (line {frames[-1].lineno} of {Path(frames[-1].filename).name})" if frames else ""


def _article(noun: str) -> str:
    if noun == "NoneType":
        return "None"
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise _TimeUp in the body once it has run for ``seconds``; about 5 microseconds."""
    over = False

    def time_up(signum: int, frame: object) -> None:
        if not over:
            raise _TimeUp

    before = signal.signal(signal.SIGALRM, time_up)
    # Again every second: a bare "except:" in the function may swallow the first ones.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        try:
            yield
        finally:
            over = True
    finally:
        # Reached even when the alarm rings between the end of the body and the line above.
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
