"""The words around the options: task, goal, rules and the question itself.

A wording is named by a version's definition or by a study's condition. Its texts are templates
in which ``{task}``, ``{goal}`` and ``{context}`` stand for what the domain says; any other brace is
a brace. A file of one's own (YAML) may give each text once for all domains, or per domain:

    name: mine
    instructions: Which of these is nearest to the goal?
    task: {tiles: Slide the tiles., default: "{task}"}
    goal: "Goal: {goal}"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beeline.errors import SettingError, nearest

__all__ = ["WORDINGS", "Wording", "read_wording"]

_TAKEN = "benchmark"  # the name of a condition: beeline.study, which imports this module
_TEXTS = ("instructions", "task", "goal", "context")
_ANY = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,39}")


@dataclass(frozen=True, slots=True)
class Wording:
    """Templates of the four texts of a question."""

    name: str
    instructions: str
    task: str = "{task}"
    goal: str = "{goal}"
    context: str = "{context}"
    domains: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = field(default=())
    """Texts that differ in one domain: (domain, ((text, template), ...)). Tuples, so that a
    wording can be a key."""

    def texts(self, domain: str, task: str, goal: str, context: str) -> tuple[str, str, str, str]:
        """Task, goal, context and instructions for one trial of a domain."""
        own = dict(dict(self.domains).get(domain, ()))
        values = {"{task}": task, "{goal}": goal, "{context}": context}
        filled = [_fill(own.get(name, getattr(self, name)), values) for name in ("task", "goal", "context")]
        return filled[0], filled[1], filled[2], _fill(own.get("instructions", self.instructions), values)


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Replace in one pass, so that a value that looks like a place is left alone."""
    parts = [template]
    for place, value in values.items():
        parts = [
            piece
            for part in parts
            for piece in (_split(part, place, value) if isinstance(part, str) else [part])
        ]
    return "".join(part if isinstance(part, str) else part[0] for part in parts)


def _split(text: str, place: str, value: str) -> list[Any]:
    pieces: list[Any] = []
    for number, piece in enumerate(text.split(place)):
        if number:
            pieces.append((value,))
        pieces.append(piece)
    return pieces


WORDINGS: Mapping[str, Wording] = {
    wording.name: wording
    for wording in (
        Wording(
            "plain",
            "Each option is one position that can be looked at next. Pick the option from which the goal "
            "can be reached in the fewest moves.",
        ),
        Wording("terse", "Which option has the fewest moves to the goal?"),
        Wording(
            "question",
            "Suppose you could go on from any one of these states. From which of them would you need the "
            "fewest moves to the goal?",
            task="This is a puzzle. {task}",
            goal="What you want: {goal}",
            context="How it works: {context}",
        ),
        Wording(
            "expert",
            "The options are the open list of a best-first search with unit action costs. Select the node of "
            "least true cost-to-go, the length of an optimal plan from it to a goal; the cost of a dead end "
            "is infinite. What a node has cost so far is of no account.",
            task="State-space search problem. {task}",
            goal="Goal condition: {goal}",
            context="State encoding and transition model: {context}",
        ),
        Wording(
            "step-by-step",
            "Do this for each option in turn: imagine the moves that lead from it to the goal, one after the "
            "other, and count them. An option from which no moves lead there counts as hopeless. When you "
            "have looked at all of them, pick the one with the smallest count.",
        ),
    )
}
"""Wordings by name. Released ones never change."""


def read_wording(path: Path) -> Wording:
    """A wording of one's own from a YAML file. Raises SettingError naming file and key."""
    from omegaconf import OmegaConf

    try:
        data = OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    except OSError as error:
        raise SettingError(f"cannot read the wording {path}: {error.strerror or error}") from error
    except Exception as error:  # yaml has a tree of errors of its own
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise SettingError(
            f"cannot read the wording {path}{line}: {reason} (is it UTF-8 YAML, with texts in quotes?)"
        ) from error
    # OmegaConf reads a text alone as a key without a value.
    if not isinstance(data, dict) or (len(data) == 1 and next(iter(data.items()))[1] is None):
        raise SettingError(f"the wording {path} must be a mapping with the keys name, {', '.join(_TEXTS)}")
    known = ("name", *_TEXTS)
    for key in data:
        if key not in known:
            raise SettingError(f"{path}: there is no text {key!r} in a wording: {nearest(str(key), known)}")
    name = data.get("name", path.stem)
    taken = (_TAKEN, *WORDINGS)
    if not isinstance(name, str) or name in taken or not _NAME.fullmatch(name):
        raise SettingError(
            f"{path}: name={name!r} must be up to 40 letters a to z, digits and '-', and none of "
            f"{', '.join(taken)}"
        )
    general: dict[str, str] = {}
    special: dict[str, dict[str, str]] = {}
    for text in _TEXTS:
        value = data.get(text)
        if value is None:
            continue
        by_domain = value if isinstance(value, dict) else {_ANY: value}
        for domain, template in by_domain.items():
            if not isinstance(template, str) or not template.strip():
                raise SettingError(f"{path}: {text} must be a text, or one a domain, not {template!r}")
            if domain == _ANY:
                general[text] = template
            else:
                special.setdefault(str(domain), {})[text] = template
    if "instructions" not in general:
        raise SettingError(f"{path}: instructions is missing: the question that every domain is asked")
    domains = tuple((d, tuple(sorted(texts.items()))) for d, texts in sorted(special.items()))
    return Wording(name, domains=domains, **general)
