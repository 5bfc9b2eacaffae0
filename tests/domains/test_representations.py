"""Every way to write a state says the same: the state is read back from the text alone.

The readers below know the rules of a writing and, where a person knows it too, the trial (a vehicle
of rush_hour is horizontal or not). They share no code with the writers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from beeline.draws import Draws
from beeline.errors import SettingError
from beeline.problem import Domain
from beeline.representation import find_representation, represent
from beeline.space import explore
from tests.domains.test_contract import NAMES, domain_of
from tests.domains_found import definition, instance_of, make
from tests.representation_samples import PAGE, page, sample_problem

MOST = 1_200
"""States looked at, of a trial."""


def board(text: str) -> tuple[int, ...]:
    return tuple(0 if cell in "·_" else int(cell) for cell in re.findall(r"[1-8·_]", text))


def board_of_sentences(text: str) -> tuple[int, ...]:
    rows = re.fullmatch(r"Top row: (.*)\. Middle row: (.*)\. Bottom row: (.*)\.", text)
    assert rows is not None
    return tuple(0 if tile == "gap" else int(tile) for row in rows.groups() for tile in row.split(", "))


def board_of_positions(text: str) -> tuple[int, ...]:
    cells = [0] * 9
    for tile, column, row in re.findall(r"(\d|gap) at ([abc])([123])", text):
        cells["abc".index(column) + 3 * (int(row) - 1)] = 0 if tile == "gap" else int(tile)
    return tuple(cells)


def facts_of(towers: list[list[str]], held: str | None) -> tuple[str, ...]:
    facts = [f"(holding {held})" if held else "(handempty)"]
    for tower in towers:
        facts += [f"(ontable {tower[0]})", f"(clear {tower[-1]})"]
        facts += [f"(on {upper} {lower})" for lower, upper in pairwise(tower)]
    return tuple(sorted(facts))


def facts(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\(.*?\)", text))


def facts_of_sentences(text: str) -> tuple[str, ...]:
    under = dict(re.findall(r"Block (b\d) stands on (b\d|the table)\.", text))
    above = {lower: upper for upper, lower in under.items()}
    towers = [[block] for block, lower in under.items() if lower == "the table"]
    for tower in towers:
        while tower[-1] in above:
            tower.append(above[tower[-1]])
    held = re.findall(r"Block (b\d) is in the hand\.", text)
    assert bool(held) != text.endswith("The hand is empty.")
    return facts_of(towers, held[0] if held else None)


def facts_of_towers(text: str) -> tuple[str, ...]:
    towers, held = text.split("; hand: ")
    return facts_of([tower.split() for tower in towers.split(" | ")], None if held == "empty" else held)


def facts_of_brackets(text: str) -> tuple[str, ...]:
    blocks, _, held = text.removesuffix("]").rpartition(" hand[")
    towers: list[list[str]] = []
    for tower in blocks.split():
        assert tower.count("(") == tower.count(")")
        towers.append(tower.rstrip(")").split("("))
    return facts_of(towers, held or None)


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))


def numbers_counted(text: str) -> tuple[int, ...]:
    count, *left = map(int, re.findall(r"\d+", text))
    assert count == len(left)
    return tuple(reversed(left))


def word_spelled(text: str) -> str:
    word, letters = text[:-1].split(" (")
    assert word == "".join(letter[-1] for letter in letters.split(", "))
    return word


def vehicles_of_cells(text: str, problem: Any) -> tuple[int, ...]:
    cells = re.sub(r"[^A-Z.-]", "", text)
    assert len(cells) == 36
    first = [divmod(cells.index(vehicle.name), 6) for vehicle in problem.vehicles]
    return tuple(
        cell[1 if vehicle.horizontal else 0] for vehicle, cell in zip(problem.vehicles, first, strict=True)
    )


def vehicles_in_words(text: str, problem: Any) -> tuple[int, ...]:
    found = []
    for part, vehicle in zip(text.split("; "), problem.vehicles, strict=True):
        match = re.fullmatch(r"(\w) in (row|column) (\d), (?:columns|rows) (\d) to (\d)", part)
        assert match is not None
        name, line, number, first, last = match.groups()
        assert (name, line == "row", int(number) - 1) == (vehicle.name, vehicle.horizontal, vehicle.line)
        assert int(last) - int(first) + 1 == vehicle.length
        found.append(int(first) - 1)
    return tuple(found)


def vehicles_on_squares(text: str, problem: Any) -> tuple[int, ...]:
    found = []
    for part, vehicle in zip(text.split(", "), problem.vehicles, strict=True):
        match = re.fullmatch(r"(\w) ([a-f])([1-6])-([a-f])([1-6])", part)
        assert match is not None
        name, column, row, last_column, last_row = match.groups()
        assert (name, row == last_row) == (vehicle.name, vehicle.horizontal)
        assert (column == last_column) is not vehicle.horizontal
        found.append("abcdef".index(column) if vehicle.horizontal else int(row) - 1)
    return tuple(found)


def place(text: str, pattern: str, problem: Any) -> tuple[str, frozenset[str]]:
    """A room, keys and doors; the keys must be those of the rooms entered."""
    match = re.fullmatch(pattern, text)
    assert match is not None, text
    room, *lists = match.groups()
    keys, doors = (
        set(re.findall(r"[a-z]+", part)) - {"the", "and", "no", "none", "key", "keys", "door", "doors"}
        for part in lists
    )
    entered = frozenset({"start", *doors})
    assert keys == {key for key in problem.colours if problem.key_room[key] in entered}
    return room, entered


@cache
def articles(problem: Any) -> dict[str, str]:
    return {problem.render(article): article for article in problem.site.links}


Reader = Callable[[str, Any], Any]
READERS: dict[str, dict[str, Reader]] = {
    "tiles": {
        "rows": lambda text, _: board(text),
        "cells": lambda text, _: board(text),
        "sentences": lambda text, _: board_of_sentences(text),
        "positions": lambda text, _: board_of_positions(text),
    },
    "blocksworld": {
        "facts": lambda text, _: facts(text),
        "sentences": lambda text, _: facts_of_sentences(text),
        "towers": lambda text, _: facts_of_towers(text),
        "brackets": lambda text, _: facts_of_brackets(text),
    },
    "countdown": {
        "plain": lambda text, _: numbers(text),
        "list": lambda text, _: numbers(text),
        "sentence": lambda text, _: numbers(text),
        "counted": lambda text, _: numbers_counted(text),
    },
    "word_ladder": {
        "capitals": lambda text, _: text.lower(),
        "quoted": lambda text, _: text[1:-1],
        "spaced": lambda text, _: text.replace(" ", "").lower(),
        "spelled": lambda text, _: word_spelled(text),
    },
    "wikispeedia": {
        "title": lambda text, problem: articles(problem)[text],
        "quoted": lambda text, problem: articles(problem)[text[1:-1]],
        "labelled": lambda text, problem: articles(problem)[text.removeprefix("article: ")],
        "underscored": lambda text, problem: articles(problem)[text.replace("_", " ")],
    },
    "rush_hour": {
        "rows": vehicles_of_cells,
        "cells": vehicles_of_cells,
        "vehicles": vehicles_in_words,
        "squares": vehicles_on_squares,
    },
    "keys_doors": {
        "compact": lambda text, problem: place(text, r"in (\w+); keys (.*); open (.*)", problem),
        "sentences": lambda text, problem: place(
            text, r"You are in the (\w+) room\. You hold (.*)\. You have opened (.*)\.", problem
        ),
        "fields": lambda text, problem: place(text, r"room=(\w+) keys=\[(.*)\] open=\[(.*)\]", problem),
    },
}

WRITINGS = [(name, writing) for name in NAMES for writing in READERS[name]]


def states(domain: Domain, trial: int) -> tuple[Any, list[Any]]:
    """The problem and up to MOST of its states: all, or a random walk's with all successors."""
    problem = domain.build(trial, instance_of(domain, trial))
    draws = Draws("walk", domain.name, trial)
    found = {problem.start: None}
    state = problem.start
    for _ in range(MOST):
        following = list(problem.successors(state))
        found.update(dict.fromkeys(following))
        if len(found) > MOST:
            break
        # From a dead end, or one time in ten, from anywhere.
        anywhere = not following or draws.below(10) == 0
        state = draws.choice(list(found) if anywhere else following)
    return problem, list(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_domain_has_three_writings_or_more_each_with_a_reader(name: str) -> None:
    names = [representation.name for representation in make(name).representations]
    assert len(names) >= 3
    assert names == list(READERS[name])
    for writing in names:
        assert re.fullmatch(r"[a-z]+", writing)
        assert writing != "benchmark"


@pytest.mark.parametrize(("name", "writing"), WRITINGS)
def test_the_state_is_read_back_from_its_text(name: str, writing: str) -> None:
    domain = domain_of(name)
    (representation,) = (r for r in domain.representations if r.name == writing)
    read = READERS[name][writing]
    for trial in (1, 2):
        problem, found = states(domain, trial)
        texts = set()
        for state in found:
            text = representation.render(problem, state)
            texts.add(text)
            assert text == text.strip() != ""
            assert "\n" not in text
            assert name == "wikispeedia" or "/" not in text  # one host refuses it in options
            if (name, writing) != ("countdown", "plain"):
                assert not text.isdecimal()
            assert read(text, problem) == state
        assert len(texts) == len(found) > 10


@pytest.mark.parametrize(("name", "writing"), WRITINGS)
def test_goal_and_rules_are_rewritten(name: str, writing: str) -> None:
    domain = make(name)
    problem = sample_problem(domain)
    first, *others = domain.representations
    (representation,) = (r for r in domain.representations if r.name == writing)
    goal, rules = representation.objective(problem), representation.context(problem)
    assert goal == goal.strip() != ""
    assert rules == rules.strip() != ""
    if representation is first:
        assert (goal, rules) == (problem.objective, problem.context)
        return
    assert rules not in {r.context(problem) for r in (first, *others) if r is not representation}
    assert goal != problem.objective
    if name in ("tiles", "countdown", "word_ladder", "wikispeedia"):
        # One state is the goal, and the goal names it as an option would.
        goals = [s for s in explore_states(problem) if problem.is_goal(s)]
        assert len(goals) == 1
        assert representation.render(problem, goals[0]) in goal


def explore_states(problem: Any) -> list[Any]:
    if type(problem).__name__ == "TilesProblem":
        return [(1, 2, 3, 4, 5, 6, 7, 8, 0)]
    space = explore(problem)
    return [space.state(number) for number in range(space.states_reachable)]


@pytest.mark.parametrize("name", ["blocksworld", "rush_hour", "keys_doors"])
def test_the_goal_is_told_as_states_are_written(name: str) -> None:
    """The goal state that the oracle ends in has the words of the goal."""
    domain = make(name)
    instance = instance_of(domain, 1)
    space, problem = domain.space(1, instance), domain.build(1, instance)
    number = space.start
    while not space.is_goal(number):
        number = min(space.successors(number), key=space.to_goal.__getitem__)
    state = space.state(number)
    for representation in domain.representations[1:]:
        goal, text = representation.objective(problem), representation.render(problem, state)
        wanted = {
            "sentences": goal.partition("so: ")[2] or f"in the {problem.__dict__.get('exit')} room",
            "towers": goal.partition("towers: ")[2],
            "brackets": goal.partition("towers: ")[2],
            "cells": goal.rpartition(" in ")[2],
            "vehicles": goal.partition(": ")[2],
            "squares": goal.partition(": ")[2],
            "fields": goal.partition(" with ")[2],
        }[representation.name]
        assert wanted
        assert wanted in text


def test_the_facts_of_a_building_are_told_in_the_trials_order() -> None:
    domain = make("keys_doors")
    problem: Any = domain.problem(3)

    def mentions(text: str) -> list[tuple[str, str]]:
        """(what, colour) of each fact, in order."""
        patterns = (
            r"The (\w+) (door) is in|The (\w+) (key) is in|The (exit) is behind the (\w+) door\.",
            r"room, the (\w+) (door) leads on|lies the (\w+) (key)|Behind the (\w+) door is the (exit)\.",
            r"(door)\[(?!colour)(\w+)\]|(key)\[(?!colour)(\w+)\]|(exit)=(?!colour)(\w+)",
        )
        best: list[tuple[str, str]] = []
        for pattern in patterns:
            hits = [tuple(g for g in m.groups() if g) for m in re.finditer(pattern, text)]
            pairs = [(a, b) if a in ("door", "key", "exit") else (b, a) for a, b in hits]
            best = max(best, pairs, key=len)
        return best

    told = [mentions(r.context(problem)) for r in domain.representations]
    assert len(told[0]) == 2 * 10 + 1
    assert told[0] == told[1] == told[2]


def test_version_2_writes_no_bare_integer() -> None:
    domain = make("countdown")
    entry = definition("2.0.0").domain("countdown")
    representation = find_representation(domain, entry.representation)
    assert representation is not None
    assert representation.render(domain.problem(1), (64,)) == "[64]"
    assert all(d.representation is None for n, d in definition("2.0.0").domains.items() if n != "countdown")


def test_a_represented_space_is_the_same_space() -> None:
    domain = make("blocksworld")
    instance = instance_of(domain, 1)
    space, problem = domain.space(1, instance), domain.build(1, instance)
    representation = find_representation(domain, "towers")
    assert representation is not None
    written = represent(space, problem, representation)
    assert (
        written.text(space.start) == representation.render(problem, problem.start) != space.text(space.start)
    )
    assert written.objective == representation.objective(problem)
    assert written.context == representation.context(problem)
    assert list(written.successors(space.start)) == list(space.successors(space.start))
    assert written.to_goal is space.to_goal


def test_the_first_writing_is_the_problems_own() -> None:
    domain = make("tiles")
    assert find_representation(domain, None) is None
    assert find_representation(domain, "rows") is None
    with pytest.raises(SettingError, match=r"no representation 'row'.*rows"):
        find_representation(domain, "row")


def test_the_page_is_up_to_date() -> None:
    # If the change is meant: python -m tests.representation_samples, and read the difference.
    assert PAGE.read_text(encoding="utf-8").splitlines() == page().splitlines()
