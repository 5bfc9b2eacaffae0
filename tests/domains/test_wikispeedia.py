from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.draws import Draws
from beeline.errors import DomainError, SettingError
from beeline.space import explore
from domains.data_pack import unpack_arrays
from domains.data_sources import pack_wikispeedia
from domains.navigation.wikispeedia import (
    Site,
    Wikispeedia,
    WikispeediaProblem,
    category_distance,
    render,
)
from domains.navigation.wikispeedia_kernel import (
    ArticleGraph,
    article_graph,
    article_space,
    clicks,
    official_graph,
)
from tests.domains.same_space import assert_same_space
from tests.shared import shared_folder


@pytest.fixture
def domain() -> Wikispeedia:
    shared_folder("data")
    return Wikispeedia("category_distance", {"min_clicks": 3})


Pairs = list[tuple[str, str]]


def graph_of(links: Pairs, categories: Pairs, games: Pairs) -> ArticleGraph:
    text = {
        name: "".join(f"{a}\t{b}\n" for a, b in pairs).encode()
        for name, pairs in (("links", links), ("categories", categories), ("games", games))
    }
    return article_graph(unpack_arrays(pack_wikispeedia(text)))


def site_of(links: Pairs, categories: Pairs, games: Pairs) -> Site:
    names = {name for pair in links + games for name in pair} | {article for article, _ in categories}
    return Site(
        {name: [b for a, b in links if a == name] for name in names},
        {name: [c for a, c in categories if a == name] for name in names},
    )


def test_titles() -> None:
    assert render("%C3%89ire") == "Éire"
    assert render("%E2%82%AC2_commemorative_coins") == "€2 commemorative coins"
    assert render("Klinefelter%27s_syndrome") == "Klinefelter's syndrome"
    assert render("AC%2FDC") == "AC/DC"
    assert render("15th_Marine_Expeditionary_Unit") == "15th Marine Expeditionary Unit"


def test_titles_of_all_articles_differ() -> None:
    shared_folder("data")
    graph = official_graph()
    assert len(set(graph.texts)) == len(graph.names)
    assert graph.texts == [render(name) for name in graph.names]
    assert all(text.isprintable() and text == text.strip() for text in graph.texts)


def test_two_articles_with_one_title_are_refused() -> None:
    with pytest.raises(DomainError, match="articles A%20b and A_b are both shown as 'A b'"):
        graph_of([("A_b", "A%20b")], [], [])


def test_category_distance_by_hand() -> None:
    storms, mammals = ["subject.Geography.Storms"], ["subject.Science.Biology.Mammals"]
    assert category_distance(storms, mammals) == 3 + 4 - 2 * 1
    assert category_distance(storms, storms) == 0
    assert category_distance(mammals, ["subject.Science.Biology.Birds"]) == 2
    assert category_distance(mammals, ["subject.Science"]) == 2
    assert category_distance([*storms, *mammals], ["subject.Science.Physics", *storms]) == 0
    # Parts are compared whole, and from the root on.
    assert category_distance(["a.bc"], ["a.bd"]) == 2
    assert category_distance(["a.x.b"], ["a.y.b"]) == 4
    assert category_distance(["a"], ["b"]) == 2
    assert category_distance([], storms) == category_distance(storms, []) == category_distance([], []) == 99


def test_heuristic_counts_link_lines_and_links_to_itself() -> None:
    links = [("A", "B"), ("A", "B"), ("A", "A"), ("B", "C"), ("C", "A")]
    problem = WikispeediaProblem(site_of(links, [("A", "s.x"), ("C", "s.y")], []), "A", "C")
    assert problem.heuristic("A") == (2, -3)
    assert problem.heuristic("B") == (99, -1)
    assert problem.heuristic("C") == (0, -1)
    assert problem.successors("A") == ["B", "B", "A"]


NAMES = st.sampled_from([*"ABCDEFGH", "%C3%89_x"])
CATEGORIES = st.sampled_from(["s", "s.x", "s.y", "s.x.u", "s.x.v", "t.x", "s.y.u.w", ".".join("s" * 120)])


@given(
    st.lists(st.tuples(NAMES, NAMES), max_size=40),
    st.lists(st.tuples(NAMES, CATEGORIES), max_size=12),
    NAMES,
    NAMES,
)
def test_kernel_agrees_with_the_plain_search(
    links: Pairs, categories: Pairs, start: str, target: str
) -> None:
    content = links, categories, [(start, target)]
    graph = graph_of(*content)
    problem = WikispeediaProblem(site_of(*content), start, target)
    first, last = graph.number[start], graph.number[target]
    try:
        plain = explore(problem)
    except DomainError:
        assert clicks(graph, first, last) is None
        with pytest.raises(DomainError, match="cannot be reached"):
            article_space(graph, start, target)
        return
    assert clicks(graph, first, last) == plain.shortest_path
    assert_same_space(article_space(graph, start, target), plain)


@pytest.mark.parametrize("trial", [1, 2])
def test_official_trial_agrees_with_the_plain_search(domain: Wikispeedia, trial: int) -> None:
    instance = json.loads(json.dumps(domain.draw(trial, Draws("wikispeedia", trial))))
    assert_same_space(domain.space(trial, instance), explore(domain.build(trial, instance)))


def test_trial_one(domain: Wikispeedia) -> None:
    problem = domain.problem(1)
    assert (problem.start, problem.target) == ("Hurricane_Katrina", "Ape")
    assert problem.render(problem.start) == "Hurricane Katrina"
    assert problem.objective == "Reach the article titled: Ape"
    assert problem.successors(problem.start)[:2] == [
        "1928_Okeechobee_Hurricane",
        "2004_Indian_Ocean_earthquake",
    ]
    assert problem.heuristic(problem.start) == (5, -54)
    space = domain.space(1, {"start": "Hurricane_Katrina", "target": "Ape"})
    assert (space.shortest_path, space.states_reachable, space.states_reaching_goal) == (3, 4055, 4051)


def test_trials_are_far_enough_and_games_that_were_played(domain: Wikispeedia) -> None:
    graph = official_graph()
    games = set(graph.games)
    for trial in range(1, 30):
        instance = domain.draw(trial, Draws("wikispeedia", trial))
        first, last = graph.number[instance["start"]], graph.number[instance["target"]]
        assert (first, last) in games
        assert domain.space(trial, instance).shortest_path >= 3


def test_game_that_is_too_short_is_drawn_again(domain: Wikispeedia) -> None:
    graph = official_graph()
    for trial in range(1, 50):
        draws = Draws("wikispeedia", trial)
        short = -1
        fewest: int | None = 0
        while fewest is None or fewest < 3:
            first, last = draws.choice(graph.games)
            fewest = clicks(graph, first, last)
            short += 1
        assert domain.draw(trial, Draws("wikispeedia", trial)) == {
            "start": graph.names[first],
            "target": graph.names[last],
        }
        if short:
            return
    pytest.fail("no trial has a short game")


def test_settings_and_ends_that_cannot_be(domain: Wikispeedia, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingError, match="min_clicks must be 1 or more, not -2"):
        Wikispeedia("category_distance", {"min_clicks": -2})
    for attempt in (domain.build, domain.space):
        with pytest.raises(DomainError, match="'No_such_article': there is no such article"):
            attempt(1, {"start": "Ape", "target": "No_such_article"})
    with pytest.raises(DomainError, match="Ape cannot be reached from Local_community"):
        domain.space(1, {"start": "Local_community", "target": "Ape"})
    monkeypatch.setattr("domains.navigation.wikispeedia.MAX_TRIES", 20)
    domain = Wikispeedia("category_distance", {"min_clicks": 100})
    with pytest.raises(DomainError, match="no game of 100 clicks in 20 tries; lower min_clicks"):
        domain.draw(1, Draws("wikispeedia", 1))
