"""One question of 255 options, sent once, and everything that came back.

Costs a fraction of a cent and tells before a run whether a key works, whether the host takes as
many options as a frontier holds, how finely it tells them apart, and what it counts. The question
is always the same and means nothing: its options are numbered texts.
"""

from __future__ import annotations

import asyncio
import math
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beeline.errors import ModelError, SettingError, StorageError
from beeline.estimates import OPTION_FRAME, count_tokens
from beeline.ledger import FILE, Ledger
from beeline.model import Model
from beeline.model_arm import option_weights
from beeline.question import Answer, Question
from beeline.records import Cell
from beeline.services import Meter, Services
from beeline.spec import Spec
from beeline.study import Condition, Study
from studies.asking import reached

__all__ = ["Facts", "Probe", "facts_of", "probe", "probe_question"]

_RAW = 300
_STATED = re.compile(r"(?:at most|up to|(?:max\w*|limit)(?: number)?(?: of| is)?) (\d{1,4})\b")


class Probe(Study):
    """Asks a model once."""

    name = "probe"
    asks_model = True

    def conditions(self) -> tuple[Condition, ...]:
        """None: no trial is run."""
        return ()

    def perform(self, spec: Spec) -> str:
        """Ask and show, as :func:`probe`; the ledger's caps hold. Raises ModelError, once all is shown,
        where the answer cannot be used."""
        if spec.domain.suite != "navigation":
            raise SettingError("study=probe asks a question of the navigation suite: choose such a domain")
        cell = Cell(spec.version, spec.model_name, self.name, spec.domain_name, "question")
        model = reached(spec, cell)
        options = spec.definition.limits.max_frontier
        caps = model.caps()
        if caps is None:
            shown, problem = _probed(model, options)
        else:
            with Ledger(spec.results / FILE, spec.caps) as ledger:
                shown, problem = _probed(model, options, ledger.account(model.name, caps))
        if problem is not None:
            print(shown, flush=True)
            raise ModelError(
                f"the answer of {model.name} is unusable ({problem}): it cannot run the benchmark; compare "
                "what it sent with docs/protocols.md, and probe it again"
            )
        return shown


@dataclass(frozen=True, slots=True)
class Facts:
    """What an answer's probabilities look like, over the options shown."""

    problem: str | None
    """Why the answer is unusable; None when it is usable."""
    sum: float
    largest: float
    ties: int
    """Options that share the largest probability."""
    distinct: int
    zeros: int
    missing: int
    """Options that the reply does not name."""
    foreign: int
    """Names in the reply that are no option."""
    entropy: float
    """In bits, after scaling the sum to 1; the most is log2 of the number of options."""
    digits: int
    """Decimals that the numbers have at most."""
    pick: str | None
    """The option we would take: the largest, the first shown on a tie."""


def probe(model: Model, options: int, meter: Meter | None = None) -> str:
    """Ask once and show what came back, with a verdict. Raises the model's error, with what to do
    where the number of options is to blame."""
    return _probed(model, options, meter)[0]


def _probed(model: Model, options: int, meter: Meter | None = None) -> tuple[str, str | None]:
    """As :func:`probe`, and why the answer cannot be used, if so; a refusal can be."""
    question = probe_question(options)
    answer = asyncio.run(_ask(model, question, Services(meter=meter, keep_replies=True)))
    facts = facts_of(answer, question.options)
    return _text(model, question, answer, facts), None if answer.refused else facts.problem


def probe_question(options: int) -> Question:
    """The question: ``options`` numbered texts, the same whenever it is asked."""
    return Question(
        task="Numbered items are listed. One of them is named in the goal.",
        goal=f"item {options // 2 + 1}",
        context="The items have no order and no meaning; this question only tests the connection.",
        instructions="Pick the item that the goal names.",
        options=tuple(f"item {number}" for number in range(1, options + 1)),
    )


def facts_of(answer: Answer, shown: tuple[str, ...]) -> Facts:
    """Look at an answer's probabilities."""
    weights, problem = option_weights(answer, shown)
    total = math.fsum(weights)
    top = max(weights)
    named: Mapping[str, Any] = answer.probabilities if isinstance(answer.probabilities, Mapping) else {}
    by_name = isinstance(answer.probabilities, Mapping)
    return Facts(
        problem=problem,
        sum=total,
        largest=top,
        ties=weights.count(top) if problem is None else 0,
        distinct=len(set(weights)),
        zeros=sum(weight == 0 for weight in weights),
        missing=sum(option not in named for option in shown) if by_name else 0,
        foreign=len(set(named) - set(shown)),
        entropy=-math.fsum(w / total * math.log2(w / total) for w in weights if w) if total else 0.0,
        digits=max((_digits(weight) for weight in weights), default=0),
        pick=shown[weights.index(top)] if problem is None else None,
    )


async def _ask(model: Model, question: Question, services: Services) -> Answer:
    model.attach(services)
    try:
        if model.placement == "worker":
            return model.answer_now(question)
        await model.open()
        return await model.answer(question)
    except (SettingError, StorageError):
        raise
    except ModelError as error:
        advice = _advice(str(error), len(question.options))
        raise type(error)(f"{error}{advice}") from error
    finally:
        await model.close()


def _advice(said: str, options: int) -> str:
    """What to do where a host refuses the question for its number of options."""
    words = said.lower()
    if not any(word in words for word in ("option", "choices", "criteria", "label", "candidates")):
        return ""
    if not any(word in words for word in ("400", "413", "422", "most", "max", "limit", "too many")):
        return ""
    stated = _STATED.search(words)
    take = stated[1] if stated is not None and int(stated[1]) < options else "what it takes"
    return (
        f". If the host takes fewer than {options} options, set model.max_options={take}; the benchmark then "
        "refuses the model with that reason instead of leaving options out"
    )


def _text(model: Model, question: Question, answer: Answer, facts: Facts) -> str:
    many = len(question.options)
    counted = count_tokens(
        " ".join((question.task, question.goal, question.context, question.instructions))
    ) + sum(count_tokens(option) + OPTION_FRAME for option in question.options)
    rows: list[tuple[str, str]] = [
        ("asked for", model.model_id),
        ("served by", answer.served_model or "the reply does not say"),
        ("answered in", f"{answer.seconds:.3f} s, {answer.retries} retries"),
        ("input tokens", _against(answer.input_tokens, counted)),
        ("output tokens", _said(answer.output_tokens)),
        ("cost", "unknown" if answer.cost_usd is None else f"${answer.cost_usd:.6f}"),
    ]
    if answer.refused:
        rows.append(("answer", "refused"))
    elif facts.problem is not None:
        rows.append(("answer", f"unusable: {facts.problem}"))
    looks = [
        ("sum", f"{facts.sum:.6g} over {many} options"),
        ("largest", f"{facts.largest:.6g}, shared by {facts.ties}"),
        ("values", f"{facts.distinct} distinct, {facts.zeros} zero, up to {facts.digits} decimals"),
        ("entropy", f"{facts.entropy:.2f} bits of {math.log2(many):.2f}"),
        ("names", f"{facts.missing} options missing, {facts.foreign} foreign names"),
        ("our pick", facts.pick or "none"),
        ("its own pick", _own(answer, facts)),
    ]
    rows += [] if answer.refused else looks
    if answer.raw is not None:
        raw = answer.raw.decode("utf-8", "replace")
        cut = f" ... ({len(answer.raw):,} bytes)" if len(raw) > _RAW else ""
        rows.append(("reply begins", " ".join(raw[:_RAW].split()) + cut))
    lines = [f"  {name:<14} {value}" for name, value in rows]
    head = f"probe of {model.name}: one question of {many} options"
    return "\n".join([head, *lines, "", textwrap.fill(_verdict(answer, facts, many), 80)]) + "\n"


def _verdict(answer: Answer, facts: Facts, many: int) -> str:
    if answer.refused:
        return (
            "It refused this question. A run asks a refused question once more in another order and then "
            "falls back, so it can run; look at the refusals of a few trials first (trials=3)."
        )
    if facts.problem is not None:
        return f"It cannot run the benchmark as it is: the answer is unusable ({facts.problem})."
    notes = []
    if facts.missing:
        notes.append(f"{facts.missing} options came back without a probability and count 0")
    if facts.ties > 1:
        notes.append(f"{facts.ties} options share the first place, where the state found first is taken")
    if answer.input_tokens is None:
        notes.append("it does not count tokens, so caps and costs rest on estimates")
    elif answer.cost_usd is None:
        notes.append("its price is unknown, so dollar caps cannot hold it")
    if answer.short_usage:
        notes.append("it counts so few tokens that it may have cut the question")
    said = f"It can run the benchmark: {many} options went out and a usable answer came back"
    return f"{said}; {'; '.join(notes)}." if notes else f"{said}."


def _own(answer: Answer, facts: Facts) -> str:
    if answer.choice is None:
        return "it names none"
    return f"{answer.choice} ({'the same' if answer.choice == facts.pick else 'another'})"


def _said(count: int | None) -> str:
    return "the reply does not say" if count is None else f"{count:,}"


def _against(count: int | None, counted: int) -> str:
    text = f"{_said(count)}; {counted:,} counted by us without a tokenizer"
    return text if not count else f"{text} (factor {count / counted:.2f})"


def _digits(value: float) -> int:
    """Decimals of a number as it prints."""
    text = f"{value:.17g}" if value != float(f"{value:.15g}") else f"{value:.15g}"
    mantissa, _, exponent = text.partition("e")
    return max(len(mantissa.partition(".")[2]) - int(exponent or 0), 0)
