"""Whether a placed model can ever fit a cluster."""

from __future__ import annotations

import pytest

from beeline.errors import SettingError
from beeline.model import Model, make_model
from beeline.placement import read_placement
from beeline.ray_room import check_room
from beeline.ray_session import Node

NODES = [
    Node("1", "many_gpus", {"GPU": 4.0, "CPU": 1.0, "memory": 9e9}),
    Node("2", "many_cpus", {"GPU": 1.0, "CPU": 8.0, "node:10.0.0.1": 1.0}),
]


def model(**settings: object) -> Model:
    return make_model({"name": "m", "target": "protocols.first_option:FirstOption", **settings})


def fits(**wanted: object) -> bool:
    placed = read_placement(wanted)
    assert placed is not None
    try:
        check_room(model(), placed, NODES)
    except SettingError:
        return False
    return True


@pytest.mark.parametrize(
    ("wanted", "most"),
    [
        ({"num_gpus": 1}, 5),
        ({"num_gpus": 2}, 2),  # no two halves of a node make one
        ({"num_gpus": 0.1}, 50),  # and ten tenths make a whole
        ({"num_gpus": 1, "num_cpus": 1}, 2),  # each on its own node, whatever the other has left
        ({"num_gpus": 5}, 0),
        ({"resources": {"tpu": 1}}, 0),
    ],
)
def test_as_many_replicas_as_the_nodes_hold_each_by_itself(wanted: dict[str, object], most: int) -> None:
    assert not fits(**wanted, replicas=most + 1)
    if most:
        assert fits(**wanted, replicas=most)


def test_no_needs_fit_anywhere() -> None:
    assert fits(replicas=1000)


def test_what_is_missing_is_said_with_what_there_is() -> None:
    placed = read_placement({"num_gpus": 1, "replicas": 6})
    assert placed is not None
    with pytest.raises(SettingError) as error:
        check_room(model(), placed, NODES)
    assert str(error.value).startswith(
        "model m asks for a node with GPU: 1 (model.placement), and no node has room for 6 replicas "
        "(many_gpus has CPU: 1, GPU: 4; many_cpus has CPU: 8, GPU: 1): start one that has "
    )


def test_limits_hold_in_one_process_only() -> None:
    limited = make_model(
        {"name": "m", "target": "protocols.systemone:SystemOne", "base_url": "http://127.0.0.1:9", "id": "m"}
    )
    placed = read_placement({"num_gpus": 1, "replicas": 2})
    assert placed is not None
    with pytest.raises(SettingError, match=r"model m has limits, .* leave replicas at 1"):
        check_room(limited, placed, NODES)
