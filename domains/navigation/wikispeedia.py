"""wikispeedia: follow links from one encyclopaedia article to another.

The articles are those of Wikispeedia, a school edition of Wikipedia from 2007. Successors are the
links of an article in file order. A trial is a game that people played and finished, (first
article, last article), whose shortest way is at least ``min_clicks`` links long. An article
without links out is a dead end. Distances come from :mod:`domains.navigation.wikispeedia_kernel`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar
from urllib.parse import unquote

from beeline.draws import Draws
from beeline.errors import DomainError
from beeline.problem import Domain, Problem
from beeline.space import Space
from domains.navigation.wikispeedia_texts import REPRESENTATIONS

__all__ = [
    "CONTEXT",
    "NO_CATEGORY",
    "Site",
    "Wikispeedia",
    "WikispeediaProblem",
    "category_distance",
    "objective",
    "render",
]

TASK = (
    "Link navigation: get from one encyclopaedia article to another by following links alone. The "
    "encyclopaedia is a selection of some 4,600 Wikipedia articles for schools, made in 2007."
)
CONTEXT = (
    "Each state is an article, shown by its title. One move follows a link in the text of that article to "
    "the article it names; links lead one way, and what an article links to shows only once it is opened. "
    "Articles usually link to what they mention: places, people, periods, broader and related subjects."
)
NO_CATEGORY = 99
"""Category distance where either article belongs to no category."""
MAX_TRIES = 2_000
"""Games drawn before a setting is taken to be impossible; the official one needs a handful at most."""


def render(article: str) -> str:
    """The title of an article, decoded, with spaces.

    >>> render("%C3%89douard_Manet")
    'Édouard Manet'
    """
    return unquote(article).replace("_", " ")


def objective(target: str) -> str:
    """The goal as told to the model."""
    return f"Reach the article titled: {render(target)}"


def category_distance(ones: Sequence[str], others: Sequence[str]) -> int:
    """Least number of steps in the tree of categories from one of ``ones`` to one of ``others``.

    A category is its path from the root, parts joined by ``.``. NO_CATEGORY when either is empty.

    >>> category_distance(["subject.Art.Painters"], ["subject.Art", "subject.Music.Songs.Pop"])
    1
    """
    return min((_steps(a.split("."), b.split(".")) for a in ones for b in others), default=NO_CATEGORY)


def _steps(path: list[str], other: list[str]) -> int:
    common = 0
    while common < min(len(path), len(other)) and path[common] == other[common]:
        common += 1
    return len(path) + len(other) - 2 * common


@dataclass(frozen=True, slots=True)
class Site:
    """Links and categories by article, names percent-encoded as in the files."""

    links: Mapping[str, Sequence[str]]
    """Every article; links in file order, repeats and links to itself included."""
    categories: Mapping[str, Sequence[str]]
    """Articles that belong to none may be left out."""


class WikispeediaProblem(Problem[str]):
    """One game; states are names of articles."""

    context = CONTEXT

    def __init__(self, site: Site, start: str, target: str) -> None:
        self.site = site
        self.start = start
        self.target = target
        self.objective = objective(target)
        for article in (start, target):
            if article not in site.links:
                raise DomainError(f"a game cannot have the end {article!r}: there is no such article")

    def successors(self, state: str) -> Sequence[str]:
        """The links of the article, in file order."""
        return self.site.links[state]

    def is_goal(self, state: str) -> bool:
        """Whether this is the target."""
        return state == self.target

    def heuristic(self, state: str) -> tuple[int, int]:
        """Category distance to the target; among equals, more links out are better."""
        categories = self.site.categories
        distance = category_distance(categories.get(state, ()), categories.get(self.target, ()))
        return distance, -len(self.site.links[state])

    def render(self, state: str) -> str:
        """The title; no two official articles share one, and the kernel checks it."""
        return render(state)


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a version fixes."""

    min_clicks: int
    """No trial can be solved in fewer clicks."""

    def __post_init__(self) -> None:
        if self.min_clicks < 1:
            raise ValueError(f"min_clicks must be 1 or more, not {self.min_clicks}")


class Wikispeedia(Domain):
    """The family of Wikispeedia games."""

    name = "wikispeedia"
    title = "Wikispeedia"
    task = TASK
    heuristics = ("category_distance",)
    representations = REPRESENTATIONS
    Parameters: ClassVar[type] = Parameters

    def draw(self, trial: int, draws: Draws) -> dict[str, str]:
        """A played game, drawn again while its last article is nearer than ``min_clicks`` or out of
        reach. Raises DomainError when no such game is found."""
        from domains.navigation.wikispeedia_kernel import clicks, official_graph

        graph = official_graph()
        for _ in range(MAX_TRIES):
            first, last = draws.choice(graph.games)
            fewest = clicks(graph, first, last)
            if fewest is not None and fewest >= self.parameters.min_clicks:
                return {"start": graph.names[first], "target": graph.names[last]}
        raise DomainError(
            f"domain wikispeedia found no game of {self.parameters.min_clicks} clicks in {MAX_TRIES} tries; "
            "lower min_clicks"
        )

    def build(self, trial: int, instance: Any) -> WikispeediaProblem:
        """The game between the drawn articles."""
        from domains.data import data_place

        return WikispeediaProblem(_official_site(data_place()), instance["start"], instance["target"])

    def space(self, trial: int, instance: Any) -> Space:
        """The link graph that all trials share, with this trial's distances."""
        from domains.navigation.wikispeedia_kernel import article_space, official_graph

        return article_space(official_graph(), instance["start"], instance["target"])


@cache
def _official_site(place: str) -> Site:
    """Read from the text of the files, not from the kernel's arrays, so that either checks the
    other; ``place`` is where the data lies, so that another place is read anew."""
    from domains.data import contents
    from domains.data_sources import WIKISPEEDIA

    text = contents(WIKISPEEDIA)
    links: dict[str, list[str]] = {}
    categories: dict[str, list[str]] = {}
    for table, part in ((links, "links"), (categories, "categories")):
        for line in text[part].decode().splitlines():
            article, value = line.split("\t")
            table.setdefault(article, []).append(value)
    for part in ("links", "games"):
        for name in text[part].decode().split():
            links.setdefault(name, [])
    return Site(links, categories)
