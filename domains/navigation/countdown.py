"""countdown: combine numbers two at a time until one number, the target, is left.

A state is the sorted tuple of the numbers that are left. A move takes two of them and puts back
their sum, their product, their difference (if it is not zero) or their quotient (if it is a whole
number). Numbers stay whole and above zero, and every move leaves one number fewer, so nothing can
be undone: most states are dead ends. Trials are made backwards, by random moves down to one
number, so each has a solution.

The space is small (a few hundred states), so the generic exhaustive search of
:func:`beeline.space.explore` does; it takes 0.3 ms a trial.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from beeline.draws import Draws
from beeline.errors import DomainError
from beeline.problem import Domain, Problem
from domains.navigation.countdown_texts import REPRESENTATIONS

__all__ = ["Countdown", "CountdownProblem", "Numbers", "combinations", "render"]

Numbers = tuple[int, ...]
"""What is left, smallest first."""

MOST_DRAWS = 1_000_000
"""Trials thrown away before the parameters are called hopeless; 1.0.0 makes 3 for each it keeps."""

TASK = (
    "Countdown number game: a few whole numbers are combined two at a time with plain arithmetic until a "
    "single number is left, and that number has to be the target."
)
CONTEXT = (
    "An option lists the numbers that are left, smallest first. One move takes two of them away and puts one "
    "number back: their sum, their product, the larger minus the smaller (unless that is 0), or the larger "
    "divided by the smaller (only when nothing remains). Every number has to be used, and no move can be "
    "taken back."
)


def combinations(numbers: Numbers) -> list[Numbers]:
    """What one move can leave, for each two positions i < j in order: sum, product, difference,
    quotient, as far as allowed. Equal results stay in the list (they weigh in draws).

    >>> combinations((2, 6))
    [(8,), (12,), (4,), (3,)]
    >>> combinations((3, 3))
    [(6,), (9,), (1,)]
    """
    results = []
    for i in range(len(numbers) - 1):
        small = numbers[i]
        before, after = numbers[:i], numbers[i + 1 :]
        for k, large in enumerate(after):
            rest = before + after[:k] + after[k + 1 :]
            made = [small + large, small * large]
            if large != small:
                made.append(large - small)
            if large % small == 0:
                made.append(large // small)
            results += [tuple(sorted((*rest, number))) for number in made]
    return results


def render(numbers: Numbers) -> str:
    """The option text.

    >>> render((3, 7, 25))
    '3 7 25'
    """
    return " ".join(map(str, numbers))


class CountdownProblem(Problem[Numbers]):
    """One set of numbers and a target."""

    context = CONTEXT

    def __init__(self, start: Numbers, target: int) -> None:
        self.start = start
        self.target = target
        self.objective = f"Be left with exactly one number: {target}"

    def successors(self, state: Numbers) -> list[Numbers]:
        """:func:`combinations`."""
        return combinations(state)

    def is_goal(self, state: Numbers) -> bool:
        """Whether the target alone is left."""
        return state == (self.target,)

    def heuristic(self, state: Numbers) -> tuple[int, int]:
        """``nearest_number``: how far the nearest number is from the target, then how many numbers
        are left. Least, (0, 1), at the goal only."""
        target = self.target
        return min([abs(number - target) for number in state]), len(state)

    def render(self, state: Numbers) -> str:
        """:func:`render`."""
        return render(state)


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a version fixes."""

    numbers: int
    """How many numbers a trial starts with."""
    largest_number: int
    """Numbers of the start are drawn from 1 to this."""
    smallest_target: int
    largest_target: int

    def __post_init__(self) -> None:
        # Seven numbers make 230,000 states; each more makes about ten times as many.
        if not 2 <= self.numbers <= 7:
            raise ValueError(f"numbers must be between 2 and 7, not {self.numbers}")
        if not 1 <= self.largest_number <= 1_000_000:
            raise ValueError(f"largest_number must be between 1 and 1000000, not {self.largest_number}")
        if self.smallest_target < 1:
            raise ValueError(f"smallest_target must be 1 or more, not {self.smallest_target}")
        if self.largest_target < self.smallest_target:
            raise ValueError(
                f"largest_target must be at least smallest_target ({self.smallest_target}), "
                f"not {self.largest_target}"
            )


class Countdown(Domain):
    """The family of Countdown trials."""

    name = "countdown"
    title = "Countdown"
    task = TASK
    heuristics = ("nearest_number",)
    representations = REPRESENTATIONS
    Parameters: ClassVar[type] = Parameters

    def draw(self, trial: int, draws: Draws) -> dict[str, Any]:
        """Draw numbers, then moves until one number is left: the target. All of it is drawn again
        while the target is out of range or among the numbers.

        Returns ``{"numbers": [...], "target": n}``; raises DomainError when nothing fits in a
        million draws.
        """
        wanted = self.parameters
        for _ in range(MOST_DRAWS):
            start = tuple(sorted([1 + draws.below(wanted.largest_number) for _ in range(wanted.numbers)]))
            state = start
            while len(state) > 1:
                state = draws.choice(combinations(state))
            target = state[0]
            if wanted.smallest_target <= target <= wanted.largest_target and target not in start:
                return {"numbers": list(start), "target": target}
        raise DomainError(
            f"countdown, trial {trial}: none of {MOST_DRAWS} draws made a target between smallest_target "
            f"{wanted.smallest_target} and largest_target {wanted.largest_target}; widen that range"
        )

    def build(self, trial: int, instance: Any) -> CountdownProblem:
        """The problem of the drawn numbers and target."""
        return CountdownProblem(tuple(instance["numbers"]), instance["target"])
