"""Prompt texts of authorization planning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["REQUEST", "environment"]

_ENVIRONMENT = """\
You put together a package of plays that must be authorized one after the other. You can learn about the
plays only through tools.

There are {stage_count} stages in a fixed order, each with {plays_per_stage} plays. A package takes
exactly one play of every stage. The stages, in order:

    {stage_list}

A package is legal only if it meets two hard conditions. Each step is authorized: a handoff leads from its
play of one stage to its play of the next. From every play there are handoffs to {handoffs_per_play}
plays of the next stage and to no others; from the source, which stands before the first stage and is no
play, there is one to every play of the first stage. And the sum of the clearance residues of its plays,
divided by the modulus, leaves the required residue. The residue is no cost and breaks no tie.

Each play has a base cost, and an override code of its own to which the policy gives a cost adjustment;
each handoff has a cost. Among the legal packages, find the one with the least total cost:

    total cost = all base costs + all cost adjustments + the costs of all handoffs taken

The handoff from the source into the first stage is one of them. The three parts count alike; nothing is
added and nothing subtracted. A play that is free in one source can be dear in another.

# Where the facts are
The costs are told by three sources. read_catalog_stage lists the plays of one stage in the columns play
id, base cost, override code, clearance residue. read_authorization_stage lists the handoffs that enter one
stage: either in the columns predecessor id, successor id, handoff cost; or in two tables, entries with
predecessor id and approval slot, and exits with approval slot, successor id and handoff cost. Join the two
by slot within the same stage of the same answer, for slots are counted anew in each stage and mean nothing
outside it. In the first stage the predecessor is the source. read_catalog_window and
read_authorization_window tell the same for two or three consecutive stages, at positions counted from 0.
read_override_policy gives the modulus, the required residue, and the cost adjustment of every override code
of all stages in one table.
"""

REQUEST = """\
Find the legal package of least total cost, and hand it in with submit_package as a list of play ids, one
of each stage, in any order.
"""


def environment(public: Mapping[str, Any]) -> str:
    """The environment text with the stages in order and the numbers of plays and handoffs."""
    return _ENVIRONMENT.format(
        stage_count=len(public["stages"]),
        stage_list=", ".join(public["stages"]),
        plays_per_stage=public["plays_per_stage"],
        handoffs_per_play=public["handoffs_per_play"],
    )
