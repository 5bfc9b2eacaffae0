"""A model asked each choice in several orders, its probabilities averaged (``model.orders=K``).

Many models favour places: the same options reversed get other probabilities. An average over orders
takes much of that out, at K times the cost. The first order is the one shown, the second its
reverse, so that with two each option stands as far from the start as from the end on average; more
are shuffles drawn from the question's content, so that nothing depends on when it is asked.

Such a model is another model: its records are called ``<name>_ordersK``. Its record counts a
question as one request; tokens, cost and waits are those of all K, and the ledger counts each. When
one of the K replies cannot be used, the answer counts as that reply: an average over fewer orders
would be another measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from beeline.archive import asked
from beeline.draws import Draws
from beeline.errors import SettingError
from beeline.model import Model
from beeline.model_arm import option_weights
from beeline.question import Answer, Question
from beeline.wrapped import Wrapped

__all__ = ["MOST", "Averaging", "orders_of"]

MOST = 64
"""Orders of one question at most."""


def orders_of(question: Question, count: int) -> list[tuple[str, ...]]:
    """The options in ``count`` orders: as shown, reversed, shuffles.

    >>> orders_of(Question("", "", "", "", ("a", "b", "c")), 2)
    [('a', 'b', 'c'), ('c', 'b', 'a')]
    """
    orders = [question.options, question.options[::-1]][:count]
    draws = Draws("averaging", asked(question))
    while len(orders) < count:
        places = list(range(len(question.options)))
        draws.shuffle(places)
        orders.append(tuple(question.options[place] for place in places))
    return orders


class Averaging(Wrapped):
    """``inner``, asked in ``count`` orders."""

    written = "model.orders=K"

    def __init__(self, inner: Model, count: int) -> None:
        if not isinstance(count, int) or isinstance(count, bool) or not 2 <= count <= MOST:
            raise SettingError(f"model.orders={count!r} must be a whole number from 1 to {MOST}")
        super().__init__(inner)
        self.count = count
        self.name = f"{inner.name}_orders{count}"
        self.model_id = f"{inner.model_id} in {count} orders"

    def describe(self) -> dict[str, Any]:
        """The inner model's settings, and the number of orders."""
        return {**self.inner.describe(), "orders": self.count}

    async def answer(self, question: Question) -> Answer:
        """Ask one order after the other; nouls and scores have one order and are asked once."""
        if question.kind != "choice":
            return await self.inner.answer(question)
        found = []
        for order in orders_of(question, self.count):
            found.append(await self.inner.answer(replace(question, options=order)))
            if option_weights(found[-1], order)[1] is not None:
                break
        return _average(question, found, self.count)

    def answer_now(self, question: Question) -> Answer:
        """The same in a worker process."""
        if question.kind != "choice":
            return self.inner.answer_now(question)
        found = []
        for order in orders_of(question, self.count):
            found.append(self.inner.answer_now(replace(question, options=order)))
            if option_weights(found[-1], order)[1] is not None:
                break
        return _average(question, found, self.count)


def _average(question: Question, found: Sequence[Answer], count: int) -> Answer:
    """One answer for all; ``found`` ends with an unusable one, or has ``count``."""
    last = found[-1]
    probabilities: Any = last.probabilities
    usable = True
    totals = dict.fromkeys(question.options, 0.0)
    for answer, order in zip(found, orders_of(question, count), strict=False):
        weights, why = option_weights(answer, order)
        usable = usable and why is None
        whole = sum(weights)
        for option, weight in zip(order, weights, strict=True):
            totals[option] += weight / whole if whole else 0.0
    if usable:
        probabilities = {option: total / count for option, total in totals.items()}
    served = {answer.served_model for answer in found}
    return replace(
        last,
        probabilities=probabilities,
        input_tokens=_sum([answer.input_tokens for answer in found]),
        output_tokens=_sum([answer.output_tokens for answer in found]),
        cost_usd=_sum([answer.cost_usd for answer in found]),
        seconds=sum(answer.seconds for answer in found),
        retries=sum(answer.retries for answer in found),
        served_model=last.served_model if len(served) == 1 else ", ".join(sorted(map(str, served))),
        choice=None if usable else last.choice,
        short_usage=any(answer.short_usage for answer in found),
        cached=all(answer.cached for answer in found),
        raw=None,  # there is no one body: the archive keeps the average
    )


def _sum(values: Sequence[Any]) -> Any:
    return None if any(value is None for value in values) else sum(values)
