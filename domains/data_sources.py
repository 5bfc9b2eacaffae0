"""The two data sets that domains need, with everything that is pinned about them.

``words``: the 5,757 five-letter words of Knuth's Stanford GraphBase, in the public domain.
``wikispeedia``: links, categories and played games of Wikispeedia, a school edition of Wikipedia
from 2007, by West and Leskovec at SNAP. It comes without a licence to redistribute, so everybody
fetches it from its source and it never enters this project, an image or a release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beeline.errors import SettingError, nearest
from domains.data import Content, Source, contents, packed
from domains.data_pack import pack_arrays, pack_strings, unpack_arrays

__all__ = [
    "SOURCES",
    "WIKISPEEDIA",
    "WORDS",
    "data_rows",
    "find_source",
    "game_lines",
    "official_wikispeedia",
    "official_words",
    "pack_wikispeedia",
]


def data_rows(data: bytes) -> list[bytes]:
    """The lines of a tab-separated file in order, without comments (``#``) and empty lines."""
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    return [line for line in lines if line and not line.startswith(b"#")]


def word_lines(data: bytes) -> list[bytes]:
    """The words, sorted."""
    return sorted(data_rows(data))


def game_lines(data: bytes) -> list[bytes]:
    """``first TAB last`` of each played game that ends where it did not begin, sorted, each once.

    A row's fourth column is the path, articles separated by ``;``, with ``<`` for a click back.
    """
    pairs = set()
    for row in data_rows(data):
        columns = row.split(b"\t")
        if len(columns) > 3:
            path = [article for article in columns[3].split(b";") if article != b"<"]
            if path and path[0] != path[-1]:
                pairs.add((path[0], path[-1]))
    return [first + b"\t" + last for first, last in sorted(pairs)]


def pack_wikispeedia(contents: Mapping[str, bytes]) -> bytes:
    """Packed arrays of the contents ``links``, ``categories`` and ``games``.

    ``names`` and ``categories`` are sorted strings, numbered from 0; ``link_ends[link_rows[a] :
    link_rows[a + 1]]`` are the articles that article a links to in file order, ``belongs`` alike
    its categories; ``games`` has a row (first, last) for each game in sorted order.
    """
    links = _pairs(contents["links"])
    belongs = _pairs(contents["categories"])
    games = _pairs(contents["games"])
    names = sorted({name for pair in links + games for name in pair} | {article for article, _ in belongs})
    categories = sorted({category for _, category in belongs})
    number = {name: i for i, name in enumerate(names)}
    category_number = {name: i for i, name in enumerate(categories)}
    link_rows, link_ends = _rows(links, number, number)
    belongs_rows, belongs_ends = _rows(belongs, number, category_number)
    return pack_arrays(
        {
            "names": pack_strings(names),
            "categories": pack_strings(categories),
            "link_rows": link_rows,
            "link_ends": link_ends,
            "belongs_rows": belongs_rows,
            "belongs_ends": belongs_ends,
            "games": np.array([[number[a], number[b]] for a, b in games], np.int32).reshape(-1, 2),
        }
    )


def _pairs(lines: bytes) -> list[tuple[str, str]]:
    return [(a, b) for a, b in (line.split("\t") for line in lines.decode().split("\n")[:-1])]


def _rows(
    pairs: list[tuple[str, str]], left: Mapping[str, int], right: Mapping[str, int]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Compressed sparse rows of ``pairs``: each row keeps the order of the pairs."""
    sources = np.array([left[a] for a, _ in pairs], np.int32)
    ends = np.array([right[b] for _, b in pairs], np.int32)
    rows = np.zeros(len(left) + 1, np.int32)
    np.cumsum(np.bincount(sources, minlength=len(left)), out=rows[1:])
    return rows, ends[np.argsort(sources, kind="stable")]


WORDS = Source(
    name="words",
    url="https://www-cs-faculty.stanford.edu/~knuth/sgb-words.txt",
    sha256="52a04f4fb860953c2a29c2769014bd8b12d090a19e7577a460a2a2586bd6d4ce",
    max_bytes=1 << 20,
    folder="",
    contents={
        "words": Content(
            "sgb-words.txt", "730257bdda9b0652d72fbda866641442961e65b3ffebbc50c99e29b250c7785e", word_lines
        )
    },
    pack=None,
    packed_sha256="",
    terms="D. E. Knuth, The Stanford GraphBase; public domain.",
)

WIKISPEEDIA = Source(
    name="wikispeedia",
    url="https://snap.stanford.edu/data/wikispeedia/wikispeedia_paths-and-graph.tar.gz",
    sha256="97697096f5d2dcb77aa69e3992305c6c561de89edb9fb10b5ad9feaf8ba534d5",
    max_bytes=64 << 20,
    folder="wikispeedia_paths-and-graph",
    contents={
        "links": Content(
            "links.tsv", "e3133f187b969f4184fb7ca8b92e496b0996c31e34bf6d98c4ce2e5be2c771a4", data_rows
        ),
        "categories": Content(
            "categories.tsv", "1da7b738a80138235487a732695a3012efaaa3f8dfb681cf35254ec4de0e3849", data_rows
        ),
        "games": Content(
            "paths_finished.tsv",
            "725442c79ead74aa23bfbefb991e32a8b972f33a928e33579b5d378111987b75",
            game_lines,
        ),
    },
    pack=pack_wikispeedia,
    packed_sha256="862d2c2a5da0fb66279cc81ee73e52d8e2430cdbe303e4336c8fcc1a1d33d53c",
    terms="R. West and J. Leskovec, SNAP; no licence to redistribute: fetch it, use it, do not pass it on.",
)

SOURCES: Mapping[str, Source] = {source.name: source for source in (WORDS, WIKISPEEDIA)}


def official_words() -> list[str]:
    """The five-letter words, sorted; DataError when they are not to be had."""
    return contents(WORDS)["words"].decode().split()


def official_wikispeedia() -> dict[str, NDArray[Any]]:
    """The arrays of :func:`pack_wikispeedia`; DataError when they are not to be had."""
    return unpack_arrays(packed(WIKISPEEDIA))


def find_source(name: str, sources: Mapping[str, Source] = SOURCES) -> Source:
    """The data set called ``name``; SettingError with the nearest names when there is none."""
    if name not in sources:
        raise SettingError(f"there is no data set {name!r}: {nearest(name, sources)}")
    return sources[name]
