"""Prompt texts of station siting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["REQUEST", "environment"]

_ENVIRONMENT = """\
You choose sites for stations along a corridor that you can learn about only through tools.

The corridor has {facility_limit} zones in a fixed order. Each zone has two sites, one with option 0 and
one with option 1, and each site has an operating cost. A layout chooses exactly one site in each zone,
so {facility_limit} sites in all; at most {max_extended_sites} of them may have option 1. Both conditions
are hard. The order in which the sites are named means nothing.

There are {demand_count} demands. A demand names two sites in two different zones that are at most
{interaction_bandwidth} places apart in the order of the zones, and any two such zones have exactly one
demand. It pays its reward once, in full, if both its sites are chosen, and else nothing.

Among the legal layouts, find the one with the greatest objective:

    raw value = sum of the rewards that are paid - sum of the operating costs of the chosen sites
    objective = raw value - raw value of the economics-only layout

The economics-only layout looks at operating costs alone. It takes the cheaper site in each zone, that with
option 0 if both cost the same. If it then has more than {max_extended_sites} sites with option 1, zones
go back to option 0 until {max_extended_sites} such sites are left: those first where the difference of
operating cost, option 0 minus option 1, is smallest, of equal ones the earlier zone. The objective of this
layout is therefore 0; subtracting its raw value changes no ranking.

# Where the facts are
read_zone tells both sites of one zone with option and operating cost, read_zone_window the same for two
or three consecutive zones. read_demand tells the reward of one demand and its two sites; where it names a
connector, join the demand to the rows of that connector in the same answer. A connector is no site and
cannot be chosen. Which zone a site belongs to is told with the zone only.

# Zones, in corridor order
{zones}

# Demands
{demands}
"""

REQUEST = """\
Find the legal layout of greatest objective, and hand it in with submit_sites as a list of site ids, one
for each zone.
"""


def environment(public: Mapping[str, Any]) -> str:
    """The environment text with the counts, limits and handles of an instance."""
    lists = {name: ", ".join(public[f"{name[:-1]}_handles"]) for name in ("zones", "demands")}
    return _ENVIRONMENT.format(**public, **lists)
