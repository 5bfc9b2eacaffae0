"""wikispeedia: other ways to write an article's title.

None adds anything that the title does not say, such as a category: that would be a hint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from beeline.representation import Representation, problems_own

if TYPE_CHECKING:
    from domains.navigation.wikispeedia import WikispeediaProblem

__all__ = ["REPRESENTATIONS"]

MOVES = (
    "One move follows a link in the text of that article to the article it names; links lead one way, and "
    "what an article links to shows only once it is opened. Articles usually link to what they mention: "
    "places, people, periods, broader and related subjects."
)


def quoted(title: str) -> str:
    """In quotation marks.

    >>> quoted("Isaac Newton")
    '"Isaac Newton"'
    """
    return f'"{title}"'


def labelled(title: str) -> str:
    """Said to be an article.

    >>> labelled("Isaac Newton")
    'article: Isaac Newton'
    """
    return f"article: {title}"


def underscored(title: str) -> str:
    """As at the end of a web address, decoded.

    >>> underscored("Isaac Newton")
    'Isaac_Newton'
    """
    return title.replace(" ", "_")


def _written(name: str, of_title: Callable[[str], str], goal: str, context: str) -> Representation:
    def render(problem: WikispeediaProblem, state: str) -> str:
        return of_title(problem.render(state))

    return Representation(
        name,
        render,
        lambda problem: f"{goal} {render(problem, problem.target)}",
        lambda problem: f"{context} {MOVES}",
    )


REPRESENTATIONS = (
    problems_own("title"),
    _written(
        "quoted",
        quoted,
        "Reach the article titled",
        "Each state is an article, shown by its title in quotation marks.",
    ),
    _written(
        "labelled",
        labelled,
        "Reach the state",
        "Each state is an article, shown by the word article and its title.",
    ),
    _written(
        "underscored",
        underscored,
        "Reach the article titled",
        "Each state is an article, shown by its title with underscores in place of spaces.",
    ),
)
