"""Prompt texts of series portfolio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domains.worlds.series_portfolio.present import PAGE

__all__ = ["REQUEST", "environment"]

_ENVIRONMENT = """\
You put together a portfolio from titles that you can learn about only through tools.

There are {group_count} titles in a fixed order, at the positions 0 to {last_position}. Each title offers
exactly two lots, and each lot has a base value. Sort the two lot ids of a title as text: the smaller id is
the title's choice 0, the other one its choice 1, whatever the order in which a tool lists them and whatever
their values.

There are {series_count} series. A series has two or three member titles and a list of adjustments, one for
every combination of its members' choices: 4 for two members, 8 for three. Adjustments may be negative. No
series reaches over more than {max_series_span} consecutive positions, its first and its last member
included.

A portfolio is legal exactly if it takes one lot of every title. The order of the lots means nothing.

Among the legal portfolios, find the one with the greatest settled value:

    settled value = sum over titles of (base value of the chosen lot - smaller base value of its two lots)
                    + sum over series of the adjustment of its combination

To find the adjustment of a series, take its members in ascending order of their positions and write down
the choice of each, 0 or 1. Read as a binary number, the first member's digit being the most significant,
they are the place of the adjustment in the list, counted from 0. So with three members of choices 1, 0, 1
it is the one at place 5. Every series counts, whichever lots are chosen, and a settled value may be negative.

# Where the facts are
read_title gives the lots of one title with their base values, and read_catalog_window the same for two or
three consecutive positions. read_series gives one series. read_series_page gives a whole page of the list
of series below: pages start at place 0, {page}, {twice} and so on and hold {page} series, the last one those
that are left ({last_length} from place {last_start}); any other start or length is an error and is charged.
The rows of a page have the columns that it names: series_id, member_positions and adjustments, or
series_id, license_id, license_member_positions and adjustments. Positions are those of the member titles
in ascending order. A license id is no series id and no lot id, and nothing else refers to it.
read_title_index only names the lots of a title and the series that it is a member of.

# Titles in order
{titles_text}

# Series in order
{series_text}
"""

REQUEST = """\
Find the legal portfolio of greatest settled value, and hand it in with submit_portfolio as a list of lot
ids, one of each title.
"""


def environment(public: Mapping[str, Any]) -> str:
    """The environment text with counts, span, pages and the handles of titles and series."""
    count = public["series_count"]
    last_start = max(count - 1, 0) // PAGE * PAGE
    return _ENVIRONMENT.format(
        group_count=public["group_count"],
        last_position=public["group_count"] - 1,
        series_count=count,
        max_series_span=public["max_series_span"],
        page=PAGE,
        twice=2 * PAGE,
        last_start=last_start,
        last_length=count - last_start,
        titles_text=", ".join(public["titles"]),
        series_text=", ".join(public["series"]),
    )
