"""Arrays in one block of bytes: quick to read, and the same bytes for the same arrays.

Layout: a magic line, one line of JSON ``[[name, dtype, shape], ...]``, then the arrays one after
the other, little-endian, C order, each starting at a multiple of 8 bytes. (numpy's own .npz
is slower to open and may change its bytes with numpy's version, so no digest can be pinned.)
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["pack_arrays", "pack_strings", "unpack_arrays", "unpack_strings"]

MAGIC = b"beeline arrays 1\n"


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The arrays, in the order given, as bytes."""
    little = {name: a.astype(a.dtype.newbyteorder("<"), order="C", copy=False) for name, a in arrays.items()}
    header = [[name, a.dtype.str, list(a.shape)] for name, a in little.items()]
    out = bytearray(MAGIC + json.dumps(header).encode() + b"\n")
    for a in little.values():
        out += bytes(-len(out) % 8)
        out += a.tobytes()
    return bytes(out)


def unpack_arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of :func:`pack_arrays` as read-only views of ``data``, which was checked before;
    ValueError for anything else."""
    if not data.startswith(MAGIC):
        raise ValueError("not packed arrays of this version")
    end = data.index(b"\n", len(MAGIC)) + 1
    arrays = {}
    place = end
    for name, dtype, shape in json.loads(data[len(MAGIC) : end]):
        place += -place % 8
        count = math.prod(shape)
        arrays[name] = np.frombuffer(data, dtype, count, place).reshape(shape)
        place += arrays[name].nbytes
    return arrays


def pack_strings(strings: Sequence[str]) -> NDArray[np.uint8]:
    """Strings without newlines as one array of bytes."""
    return np.frombuffer("".join(s + "\n" for s in strings).encode(), np.uint8)


def unpack_strings(array: NDArray[np.uint8]) -> list[str]:
    """The strings of :func:`pack_strings`."""
    return array.tobytes().decode().split("\n")[:-1]
