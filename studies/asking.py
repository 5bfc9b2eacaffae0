"""Ask a model questions that belong to no search, trial by trial, and keep every answer.

The same machinery as a benchmark run: ledger, pacing and retries, archive (``archive=on``), a
replay's answers, many trials in flight. Answers lie in
``<results>/questions/<version>/<model>/<study>/<domain>.<what>.jsonl``, one line a question, where no
reader of records looks. A trial's lines are written and synced together when it ends, also when it
ends early; a run that is started again asks what is not answered.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beeline.archive import Archive, asked
from beeline.digest import canonical
from beeline.display import Display
from beeline.engine import Asking, Progress
from beeline.errors import HostError, ModelError, SettingError
from beeline.ledger import FILE, Ledger
from beeline.lines import write_lines
from beeline.model import Model
from beeline.model_arm import UsabilityGuard, option_weights
from beeline.question import Answer, Question
from beeline.records import Cell
from beeline.services import Services
from beeline.spec import Spec
from studies.answer_log import AnswerLog, read_answers

__all__ = ["Item", "ask_trials", "log_path", "reached"]


_TURNED_DOWN = re.compile(r"\b(400|404|422|501)\b")
"""Statuses that a host may give to a kind of question it does not know."""


@dataclass(frozen=True, slots=True)
class Item:
    """A question and what is true of it, as JSON data."""

    question: Question
    facts: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """Tells questions apart."""
        return asked(self.question)


def log_path(results: Path, cell: Cell) -> Path:
    """Where the answers lie."""
    folder = results / "questions" / cell.version / cell.model / cell.study
    return folder / f"{cell.domain}.{cell.condition}.jsonl"


def reached(spec: Spec, cell: Cell) -> Model:
    """The model of a spec where it is to be asked: from here, or by engine=ray on the node that it is
    placed on. Not opened."""
    assert spec.model is not None
    config = canonical(dict(spec.model_config or {}))
    return spec.engine.reach(Asking(spec.model, config, cell, plugins=spec.plugins, placed=spec.placed))


def ask_trials(spec: Spec, what: str, items: Mapping[int, Sequence[Item]]) -> list[dict[str, Any]]:
    """The answers to all items, by trial and in their order: one mapping each, with the item's facts,
    ``trial``, ``asked``, ``kind``, ``weights`` (one number >= 0 an option shown) and ``problem`` (why it is
    unusable, or None). What is kept from before is not asked again.

    Raises what the model raises; what was answered before stays.
    """
    model = spec.model
    assert model is not None
    cell = Cell(spec.version, model.name, spec.study.name, spec.domain_name, what)
    path = log_path(spec.results, cell)
    with AnswerLog(path) as log:
        kept = _kept(spec, path)
        # An archive holds all replies of a trial in order, so there a trial is asked as a whole.
        whole = spec.archive or bool((spec.model_config or {}).get("replay"))
        owed: dict[int, Sequence[Item]] = {}
        for trial, group in items.items():
            left = [item for item in group if (trial, item.digest) not in kept]
            if left:
                owed[trial] = group if whole else left
        if owed:
            progress = Progress(total=len(items), kept=len(items) - len(owed))

            def store(trial: int, answers: Sequence[tuple[Item, Answer]]) -> None:
                complete = len(answers) == len(owed[trial])
                if not answers or (whole and not complete):
                    return
                lines = [_line(spec, trial, item, answer) for item, answer in answers]
                if spec.archive:
                    _keep_replies(spec, cell, trial, answers)
                log.append(lines)
                kept.update({(trial, line["asked"]): line for line in lines})
                progress.done += complete

            _ask(spec, cell, owed, store, progress)
    return [
        {**kept[trial, item.digest], **item.facts, "trial": trial}
        for trial, group in items.items()
        for item in group
    ]


def _kept(spec: Spec, path: Path) -> dict[tuple[int, str], dict[str, Any]]:
    assert spec.model is not None
    found = {}
    for line in read_answers(path):
        if line.get("model_id") != spec.model.model_id:
            raise SettingError(
                f"{path} holds answers of the model {line.get('model_id')!r}, this run asks "
                f"{spec.model.model_id!r}: give this one a name of its own with model.name=NAME, or choose "
                "another folder with results=DIR"
            )
        found[line["trial"], line["asked"]] = line
    return found


def _line(spec: Spec, trial: int, item: Item, answer: Answer) -> dict[str, Any]:
    assert spec.model is not None
    weights, problem = option_weights(answer, item.question.options)
    return {
        "schema": 1,
        "spec": spec.digest,
        "model_id": spec.model.model_id,
        "trial": trial,
        "asked": item.digest,
        "kind": item.question.kind,
        **item.facts,
        "weights": weights,
        "problem": problem,
        "refused": answer.refused,
        "seconds": answer.seconds,
        "retries": answer.retries,
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "cost_usd": answer.cost_usd,
        "served": answer.served_model,
        "request": answer.request_id,
        "cached": answer.cached,
    }


def _keep_replies(spec: Spec, cell: Cell, trial: int, answers: Sequence[tuple[Item, Answer]]) -> None:
    archive = Archive()
    for item, answer in answers:
        archive.add(item.question, answer)
    header = {
        "schema": 1,
        "version": cell.version,
        "domain": cell.domain,
        "model": cell.model,
        "model_id": spec.model.model_id if spec.model is not None else None,
        "study": cell.study,
        "condition": cell.condition,
        "trial": trial,
        "repeat": 1,
    }
    write_lines(cell.archive_path(spec.results, trial, 1), header, archive.lines, "archive")


_Store = Callable[[int, Sequence[tuple[Item, Answer]]], None]


def _ask(
    spec: Spec, cell: Cell, owed: Mapping[int, Sequence[Item]], store: _Store, progress: Progress
) -> None:
    model = reached(spec, cell)
    caps = model.caps()
    ledger = nullcontext() if caps is None else Ledger(spec.results / FILE, spec.caps)
    title = f"{spec.domain_name} · {model.name} · {spec.study.name}"
    with Display() as display, ledger as open_ledger:
        display.add(title, progress, model.name)
        meter = open_ledger.account(model.name, caps) if open_ledger is not None else None
        model.attach(Services(meter, lambda text: display.notice(model.name, text), spec.archive))
        if model.placement == "worker":
            guard = UsabilityGuard()
            for trial, group in owed.items():
                answers: list[tuple[Item, Answer]] = []
                try:
                    for item in group:
                        answers.append((item, _checked(model.answer_now(item.question), item, guard)))
                finally:
                    store(trial, answers)
        else:
            asyncio.run(_ask_together(model, cell, owed, store, progress))


async def _ask_together(
    model: Model,
    cell: Cell,
    owed: Mapping[int, Sequence[Item]],
    store: _Store,
    progress: Progress,
) -> None:
    """Trials side by side, the questions of one in turn (a replay has them in that order)."""
    guard = UsabilityGuard()
    waiting = iter(owed.items())

    async def serve() -> None:
        for trial, group in waiting:
            progress.in_flight += 1
            answers: list[tuple[Item, Answer]] = []
            try:
                mine = model.for_trial(cell, trial, 1)
                for item in group:
                    answers.append((item, _checked(await _answer(mine, item), item, guard)))
            finally:
                # What was answered, and may have been paid, stays whatever ended the trial.
                progress.in_flight -= 1
                store(trial, answers)

    await model.open()
    servers = [asyncio.create_task(serve()) for _ in range(min(model.concurrency, len(owed)))]
    try:
        for done in asyncio.as_completed(servers):
            await done
    finally:
        for server in servers:
            server.cancel()
        await asyncio.gather(*servers, return_exceptions=True)
        await model.close()


async def _answer(model: Model, item: Item) -> Answer:
    try:
        return await model.answer(item.question)
    except HostError as error:
        kind = item.question.kind
        if kind == "choice" or not _TURNED_DOWN.search(str(error)):
            raise
        raise type(error)(
            f"{error} (a question of the kind {kind}: if the host takes none, leave it out with study.kinds)"
        ) from error


def _checked(answer: Answer, item: Item, guard: UsabilityGuard) -> Answer:
    """The answer, once the guard knows of it; it raises ModelError when none was ever usable."""
    if not isinstance(answer, Answer):
        raise ModelError(f"the model gave {type(answer).__name__}, not an Answer")
    _, problem = option_weights(answer, item.question.options)
    if problem is None:
        guard.good()
    else:
        guard.bad(problem)
    return answer
