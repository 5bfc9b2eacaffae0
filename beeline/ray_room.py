"""Whether a cluster has what a placed model asks for, said before anything is loaded."""

from __future__ import annotations

import math
from collections.abc import Sequence

from beeline.errors import SettingError
from beeline.model import Model
from beeline.placement import PlacedAs
from beeline.ray_session import Node

__all__ = ["check_room"]


def check_room(model: Model, placed: PlacedAs, nodes: Sequence[Node]) -> None:
    """Raise SettingError where ``nodes`` could never hold all replicas, or the model may have only one.

    It goes by what the nodes have, not by what is free now: that may be free in a moment.
    """
    if placed.replicas > 1 and model.caps() is not None:
        raise SettingError(
            f"model.placement.replicas={placed.replicas}: model {model.name} has limits, which "
            "hold because one process asks it: leave replicas at 1"
        )
    wanted = placed.wanted()
    room = sum(_held(node, placed) for node in nodes)
    if room >= placed.replicas:
        return
    asks = ", ".join(f"{name}: {amount:g}" for name, amount in wanted.items())
    have = "; ".join(f"{node.name} has {_shown(node)}" for node in nodes)
    many = f" for {placed.replicas} replicas" if room else ""
    raise SettingError(
        f"model {model.name} asks for a node with {asks} (model.placement), and no node has room{many} "
        f"({have}): start one that has (ray start --address=... --num-gpus=N, --resources=...), or "
        "change model.placement" + (f". {model.elsewhere}" if model.elsewhere else "")
    )


def _held(node: Node, placed: PlacedAs) -> float:
    """How many replicas a node could hold."""
    return min(
        (
            math.floor(node.resources.get(name, 0.0) / amount + 1e-9)
            for name, amount in placed.wanted().items()
        ),
        default=math.inf,
    )


def _shown(node: Node) -> str:
    """The resources of a node, those that Ray adds for itself left out."""
    own = ("memory", "object_store_memory")
    kept = {
        name: amount for name, amount in node.resources.items() if name not in own and "node:" not in name
    }
    return ", ".join(f"{name}: {amount:g}" for name, amount in sorted(kept.items())) or "nothing"
