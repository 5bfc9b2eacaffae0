"""A model that answers from what another run kept (``model.replay=PATH``): no network, no key.

PATH is a results folder. A trial is answered from its archive (``archive=on``), whose reply bodies
the protocol reads again, or from its trace. Each question is compared with what was kept, so that
an answer never serves another question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beeline.archive import answer_from, asked
from beeline.errors import ModelError, SettingError, StorageError
from beeline.lines import read_lines
from beeline.model import Model
from beeline.question import Answer, Question
from beeline.records import Cell
from beeline.services import Services

__all__ = ["Replay"]


class Replay(Model):
    """Answers in place of ``inner``, under its name and settings."""

    placement = "loop"
    at_home = True

    def __init__(self, inner: Model, folder: Path) -> None:
        self.inner = inner
        self.folder = folder
        self.name = inner.name
        self.model_id = inner.model_id
        self.max_options, self.kinds = inner.max_options, inner.kinds
        self.suites = inner.suites  # type: ignore[misc]
        self.concurrency = 8

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Replay:
        """Not made from settings: ``model.replay`` wraps the model that a config names."""
        raise SettingError("model.target may not be beeline.replay:Replay: write model.replay=PATH")

    def check(self) -> None:
        """See that the folder holds archives or traces; nothing the model itself needs is asked."""
        if not any((self.folder / kind).is_dir() for kind in ("archive", "traces")):
            raise SettingError(
                f"model.replay={self.folder} holds neither archive/ nor traces/: name the results folder "
                "of a run made with archive=on or traces=on"
            )

    def attach(self, services: Services) -> None:
        """Nothing is sent, so nothing is metered; replies are kept when asked for."""
        self.inner.attach(Services(keep_replies=services.keep_replies))

    def for_trial(self, cell: Cell, trial: int, repeat: int) -> Model:
        """The answers of one trial; raises ModelError when they were not kept."""
        archive = cell.archive_path(self.folder, trial, repeat)
        trace = cell.trace_path(self.folder, trial, repeat)
        try:
            if archive.is_file():
                return _FromArchive(self, archive)
            if trace.is_file():
                return _FromTrace(self, trace)
        except StorageError as error:
            raise ModelError(f"model.replay: {error}") from error
        raise ModelError(
            f"model.replay: trial {trial}, repeat {repeat} of {cell.domain} ({cell.study}, {cell.condition}) "
            f"has neither {archive} nor a trace: run fewer trials, or name another folder"
        )

    def describe(self) -> dict[str, Any]:
        """The settings of the model that answered, so that a replayed record is the record."""
        return self.inner.describe()


class _Kept(Model):
    """The kept answers of one trial, in order."""

    def __init__(self, replay: Replay, path: Path, what: str) -> None:
        self.inner = replay.inner
        self.name, self.model_id = replay.name, replay.model_id
        self.path = path
        header, self.lines = read_lines(path, what)
        if header.get("model_id") != self.model_id:
            raise StorageError(
                f"{path} holds answers of the model {header.get('model_id')!r}, not {self.model_id!r}"
            )
        self.next = 0

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Model:
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        return self.inner.describe()

    def fail(self, why: str) -> ModelError:
        return ModelError(
            f"model.replay: {self.path}, question {self.next}: {why}. It was kept by another version, "
            "wording or program: replay with the settings and the code of that run"
        )


class _FromArchive(_Kept):
    def __init__(self, replay: Replay, path: Path) -> None:
        super().__init__(replay, path, "archive")

    async def answer(self, question: Question) -> Answer:
        self.next += 1
        if self.next > len(self.lines):
            raise self.fail("the archive ends before the search")
        line = self.lines[self.next - 1]
        if line.get("asked") != asked(question):
            raise self.fail("another question was asked then")
        try:
            if "body" not in line:
                return _sound(answer_from(line))
            body = str(line["body"]).encode("utf-8", "surrogateescape")
            answer = self.inner.reread(body, question)
            answer.seconds, answer.retries = float(line["seconds"]), int(line["retries"])
            answer.request_id = line["request_id"]
            return _sound(answer)
        except (ValueError, TypeError, KeyError) as error:
            raise self.fail(f"a damaged line ({error})") from error


def _sound(answer: Answer) -> Answer:
    """The answer, when its time and tries can be those of one; else ValueError."""
    if not (0.0 <= answer.seconds < math.inf and answer.retries >= 0):
        raise ValueError(f"{answer.seconds!r} s, {answer.retries!r} retries")
    return answer


class _FromTrace(_Kept):
    """Answers that make the search do again what the trace says it did."""

    def __init__(self, replay: Replay, path: Path) -> None:
        super().__init__(replay, path, "trace")
        self.lines = [line for line in self.lines if not line.get("forced")]
        self.replies: list[Answer] = []

    async def answer(self, question: Question) -> Answer:
        if not self.replies:
            self.next += 1
            if self.next > len(self.lines):
                raise self.fail("the trace ends before the search")
            try:
                self.replies = self._replies(self.lines[self.next - 1], len(question.options))
            except (ValueError, TypeError, KeyError, IndexError) as error:
                raise self.fail(f"a damaged line ({error!r})") from error
        answer = self.replies.pop(0)
        if not self.replies:
            self._place(answer, self.lines[self.next - 1], question)
        return answer

    @staticmethod
    def _replies(line: Mapping[str, Any], size: int) -> list[Answer]:
        if line["frontier"] != size:
            raise ValueError(f"a frontier of {line['frontier']} states, not {size}")
        if "replies" not in line:
            raise ValueError("it was written before traces could be replayed")
        return [
            _sound(
                Answer(
                    refused=bool(reply["refused"]),
                    problem=reply["problem"],
                    input_tokens=reply["input_tokens"],
                    output_tokens=reply["output_tokens"],
                    cost_usd=reply["cost_usd"],
                    served_model=reply["served"],
                    seconds=reply["seconds"],
                    retries=reply["retries"],
                    request_id=reply["request"],
                    short_usage=reply["short_usage"],
                    cached=reply["cached"],
                )
            )
            for reply in line["replies"]
        ]

    def _place(self, answer: Answer, line: Mapping[str, Any], question: Question) -> None:
        """Give the last reply of a step its probabilities, by the texts now shown."""
        text = {index: option for index, option in zip(line["order"], question.options, strict=True)}
        if text[line["chosen"]] != line["state"]:
            raise self.fail(f"it then chose {line['state']!r}, which is not the state at that place now")
        if line["fallback"]:
            return
        answer.probabilities = {text[index]: weight for index, weight, _ in line["top"]}
        # All that shared the first place: a rule that draws among them needs to know how many.
        answer.probabilities |= {text[index]: line["top"][0][1] for index in line.get("tied", ())}
        answer.choice = line["choice"]
        if answer.choice is not None and not line["disagrees"]:
            # Its pick may be a sixth tied option, which the trace does not list.
            answer.choice = text[line["top"][0][0]]
