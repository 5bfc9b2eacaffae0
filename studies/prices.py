"""What a run would take, before anything is sent: questions, input tokens, dollars.

How each number comes about is in :mod:`studies.forecast`; the text says it again, with the numbers
of this domain. Tokens are multiplied by a factor: for a model with published tokens its own
(published over counted), for others the geometric mean of all published ones, with the least and
the greatest as low and high.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from beeline.averaging import Averaging
from beeline.cache import cache_folder
from beeline.errors import SettingError
from beeline.model import Model
from beeline.spec import Spec
from beeline.study import Condition, Study
from beeline.wording import WORDINGS
from beeline.worker import DomainPlan
from studies.calibration import table
from studies.forecast import Arms, Profile, Range, measure, position_range, taken
from studies.published import PUBLISHED, Published, find, mean_factor

__all__ = ["DomainPrice", "Price", "Prices", "estimate", "factors"]

OUTPUT_TOKENS = 1
"""A question of a decision model."""
_WRITTEN = 20
"""Assumed of a model that is no decision model: a number inside a small JSON object."""
_DECISION_PROTOCOLS = ("systemone", "openai_decisions", "gemini_decisions")
_WIDTH = 80


@dataclass(frozen=True, slots=True)
class Price:
    """List prices in US dollars a million tokens; None is unknown."""

    input: float | None
    output: float
    date: str | None
    output_tokens: int
    """A question."""

    @classmethod
    def of(cls, model: Model) -> Price:
        """The prices of a model's config."""
        known = model.describe()
        output = known.get("price_output") or 0.0
        decides = str(known.get("protocol", "systemone")) in _DECISION_PROTOCOLS
        return cls(
            known.get("price_input"), output, known.get("price_date"), OUTPUT_TOKENS if decides else _WRITTEN
        )

    def dollars(self, questions: float, tokens: float) -> float | None:
        """Dollars of so many questions and input tokens; None when the price is unknown."""
        if self.input is None:
            return None
        return (tokens * self.input + questions * self.output_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class DomainPrice:
    """What one domain's trials are expected to take, all trials together."""

    domain: str
    trials: int
    questions: Range
    bytes: Range
    tokens: Range
    basis: str
    """Where the number of questions comes from."""
    expansions: float
    """Likely, a trial."""


class Prices(Study):
    """Estimates the run that the same command with ``study=score`` would make."""

    name = "prices"
    asks_model = True
    needs_key = False

    _shown: ClassVar[dict[tuple[str, str, int], dict[str, DomainPrice]]] = {}
    """What this process has estimated, by version, model and trials: a sweep ends with the sum."""

    def conditions(self) -> tuple[Condition, ...]:
        """None: no trial is run."""
        return ()

    def perform(self, spec: Spec) -> str:
        """Estimate one domain. In a sweep, each further domain adds the sum so far."""
        if spec.domain.suite != "navigation":
            raise SettingError(
                f"study=prices estimates the navigation suite; domain {spec.domain_name} belongs to "
                f"{spec.domain.suite}"
            )
        assert spec.model is not None
        asked, orders = spec.model, 1
        if isinstance(spec.model, Averaging):
            asked, orders = spec.model.inner, spec.model.count
        model, price = find(asked.model_id), Price.of(asked)
        arms, profile = measure(_plan(spec), spec.trials)
        found = estimate(spec.domain_name, spec.trials, arms, profile, model)
        if orders > 1:
            times = (orders,) * 3
            found = replace(
                found,
                questions=found.questions.times(*times),
                bytes=found.bytes.times(*times),
                tokens=found.tokens.times(*times),
                basis=f"{found.basis}; each asked in {orders} orders",
            )
        key = (spec.version, spec.model.name, spec.trials)
        first = not self._shown
        sofar = self._shown.setdefault(key, {})
        sofar[spec.domain_name] = found
        blocks = [_text(spec, found, profile, model, price)]
        if len(sofar) > 1:
            blocks.append(_sum(sofar.values(), model, price))
        if first:
            blocks.append(_calibration())
        return "\n\n".join(blocks) + "\n"


def estimate(domain: str, trials: int, arms: Arms, profile: Profile, model: Published | None) -> DomainPrice:
    """What a domain's trials take; ``model`` None is a model of which nothing is published."""
    positions, basis = position_range(domain, arms, model)
    found = [taken(arms, profile, p) for p in (positions.low, positions.likely, positions.high)]
    questions, sizes, counted = (
        Range(*(trials * getattr(t, name) for t in found)) for name in ("questions", "bytes", "tokens")
    )
    low, likely, high = factors(model)
    return DomainPrice(
        domain, trials, questions, sizes, counted.times(low, likely, high), basis, found[1].expansions
    )


def factors(model: Published | None) -> tuple[float, float, float]:
    """Low, likely and high of a host's tokens for one of ours. A published model has its own as
    likely; how far that is wrong in a single domain is bounded by the mean of all models."""
    mean = mean_factor()
    if model is None:
        every = sorted(p.factor for p in PUBLISHED)
        return every[0], mean, every[-1]
    return min(model.factor, mean), model.factor, max(model.factor, mean)


def _plan(spec: Spec) -> DomainPlan:
    return DomainPlan.of(
        spec.domain.parameters_given,
        name=spec.domain_name,
        target=spec.domain_target,
        heuristic=spec.domain.heuristic,
        definition=spec.definition.digest,
        limits=spec.definition.limits,
        wording=WORDINGS[spec.definition.wording],
        plugins=spec.plugins,
        cache=str(cache_folder()) if spec.cache else None,
    )


def _text(spec: Spec, found: DomainPrice, profile: Profile, model: Published | None, price: Price) -> str:
    assert spec.model is not None
    title = (
        f"{found.domain} · {spec.model.name} ({spec.model.model_id}) · {found.trials} trials · "
        f"version {spec.version}: an estimate, nothing was sent"
    )
    return "\n".join(
        [textwrap.fill(title, _WIDTH), *_rows(found, price), *_basis(found, profile, model, price)]
    )


def _rows(found: DomainPrice, price: Price) -> list[str]:
    ends = ("low", "likely", "high")

    def row(name: str, values: Iterable[str]) -> str:
        return f"  {name:<14}" + "".join(f"{value:>16}" for value in values)

    def rounded(amounts: Range) -> list[str]:
        return [_rounded(getattr(amounts, end)) for end in ends]

    costs = [price.dollars(getattr(found.questions, end), getattr(found.tokens, end)) for end in ends]
    return [
        row("", ends),
        row("questions", rounded(found.questions)),
        row("body bytes", rounded(found.bytes)),
        row("input tokens", rounded(found.tokens)),
        row("dollars", ["unknown" if cost is None else f"${cost:,.2f}" for cost in costs]),
    ]


def _basis(found: DomainPrice, profile: Profile, model: Published | None, price: Price) -> list[str]:
    low, likely, high = factors(model)
    whose = (
        f"{likely:.2f}, measured for {model.title}: {model.input_tokens / 1e6:,.0f} million published for a "
        f"full run over {model.counted / 1e6:,.0f} million counted; low and high also take "
        f"{mean_factor():.2f}, the mean of all published models"
        if model is not None
        else f"{likely:.2f}, the geometric mean of {len(PUBLISHED)} published models, low {low:.2f}, high "
        f"{high:.2f}: nothing is published of this model's tokens"
    )
    if price.input is None:
        money = "the price is unknown: set model.price_input (dollars a million input tokens)"
    else:
        dated = f", read {price.date}" if price.date else ", undated"
        output = (
            f" and ${price.output:g} output, {price.output_tokens} a question assumed"
            if price.output
            else ", output free"
        )
        money = f"list price ${price.input:g} a million input tokens{output}{dated}"
    lines = [
        f"questions: {found.expansions:,.0f} expansions a trial likely; {found.basis}",
        f"bytes: measured on the heuristic and random searches of {profile.trials} trials, replayed",
        f"tokens: counted without a tokenizer, times {whose}",
        f"dollars: {money}",
    ]
    if model is None:
        lines.append("re-asked refusals and retries come on top")
    return [textwrap.fill(line, _WIDTH, initial_indent="  - ", subsequent_indent="    ") for line in lines]


def _sum(found: Iterable[DomainPrice], model: Published | None, price: Price) -> str:
    parts = list(found)
    total = parts[0]
    for part in parts[1:]:
        total = replace(
            total,
            questions=total.questions + part.questions,
            bytes=total.bytes + part.bytes,
            tokens=total.tokens + part.tokens,
        )
    lines = [
        f"{len(parts)} domains together (low and high add up the domains' own)",
        *_rows(total, price),
    ]
    if model is not None and _is_full(parts):
        lines.append(
            f"  published of {model.title} for this run: {model.input_tokens / 1e6:,.0f} million input "
            "tokens (its factor comes from them)"
        )
    return "\n".join(lines)


def _is_full(parts: Sequence[DomainPrice]) -> bool:
    domains: Mapping[str, Any] = PUBLISHED[0].scores
    return {part.domain for part in parts} == set(domains) and all(part.trials == 100 for part in parts)


def _calibration() -> str:
    head = (
        "check of the calibration, version 1.0.0, 700 trials, million input tokens: what is published, what "
        "we count without a factor, and how far a forecast is off that has only the other models' factors"
    )
    return textwrap.fill(head, _WIDTH) + "\n" + textwrap.indent(table(), "  ")


def _rounded(value: float) -> str:
    """Three significant digits: no estimate here has more."""
    return f"{float(f'{value:.3g}'):,.0f}"
