"""Prompt texts of transit routing."""

from __future__ import annotations

__all__ = ["ENVIRONMENT", "REQUEST"]

ENVIRONMENT = """\
You plan a route through a transit network that you can learn about only through tools.

The stations stand in a fixed order. Between each station and the next there is one stage, and each
stage offers several legs. A route takes exactly one leg of every stage, from the first station to the
last.

Each leg has a travel time, a ticket residue and a line. Several legs of a stage may run on the same
line. Between two consecutive stages you change from the line of the first leg to the line of the
second. A change has a cost that depends on both lines and on the direction; staying on a line costs
nothing. Boarding at the first station costs nothing.

A route is legal only if the sum of its ticket residues, divided by the checksum modulus, leaves the
required residue. This is a hard condition. The residue is no cost and breaks no tie.

Among the legal routes, find the one with the least cost:

    cost = all travel times + all transfer costs - (sum over stages of the least travel time) + 1

Travel time and transfer cost count alike; neither comes first.

# Where the facts are
survey_route gives the order of the stations, the ids of all lines, the modulus and the required
residue; all handles start from it. read_departures gives the legs of one stage with travel times and
ticket residues, and read_station_window the same for two or three consecutive stages.
read_stage_memberships tells which line each leg of a stage runs on; where it lists platform slots,
join the two tables of the same answer by slot, for slots mean nothing outside it. read_transfer_costs
gives one row of the table of transfer costs, from one line to every line in the order of the survey's
line ids.
"""

REQUEST = """\
Find the legal route of least cost, and hand it in with submit_route as the list of its leg ids in
stage order.
"""
