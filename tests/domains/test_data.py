from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beeline.errors import DataError
from domains.data import contents, data_folder, packed, write_atomically
from domains.data_pack import pack_arrays, pack_strings, unpack_arrays, unpack_strings
from domains.data_sources import (
    WIKISPEEDIA,
    WORDS,
    data_rows,
    game_lines,
    official_wikispeedia,
    official_words,
)
from tests.domains.invented_data import FILES, FOLDER, small_source, write_files
from tests.shared import shared_folder

NOWHERE = "http://127.0.0.1:9/small.tar.gz"


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror of the invented data, and a data folder of its own."""
    monkeypatch.setenv("BEELINE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BEELINE_DATA_MIRROR", str(tmp_path / "mirror"))
    return write_files(tmp_path / "mirror")


# Folders


def test_data_folder_prefers_the_variable_then_xdg_then_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("BEELINE_DATA", "~/mine")
    assert data_folder() == tmp_path / "mine"
    monkeypatch.setenv("BEELINE_DATA", "")
    assert data_folder() == Path("/xdg/beeline/data")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert data_folder() == tmp_path / ".cache" / "beeline" / "data"


# The official data


def test_official_contents_and_their_counts() -> None:
    shared_folder("data")
    words = official_words()
    assert len(words) == 5757
    assert words[0] == "aargh"
    assert words == sorted(set(words))
    text = contents(WIKISPEEDIA)
    assert {name: part.count(b"\n") for name, part in text.items()} == {
        "links": 119_882,
        "categories": 5_204,
        "games": 28_707,
    }
    arrays = official_wikispeedia()
    names = unpack_strings(arrays["names"])
    assert names == sorted(set(names))
    # Not 4,604: two articles have no links, no category and no game.
    assert (len(names), len(unpack_strings(arrays["categories"]))) == (4_602, 129)
    assert (len(arrays["link_ends"]), len(arrays["belongs_ends"])) == (119_882, 5_204)
    assert arrays["games"].shape == (28_707, 2)


def test_packed_arrays_say_what_the_text_says() -> None:
    shared_folder("data")
    text, arrays = contents(WIKISPEEDIA), official_wikispeedia()
    names, categories = unpack_strings(arrays["names"]), unpack_strings(arrays["categories"])
    games = "".join(f"{names[a]}\t{names[b]}\n" for a, b in arrays["games"].tolist())
    assert games.encode() == text["games"]
    for rows, ends, right, part in (
        ("link_rows", "link_ends", names, "links"),
        ("belongs_rows", "belongs_ends", categories, "categories"),
    ):
        lines = [
            f"{names[article]}\t{right[end]}\n"
            for article in range(len(names))
            for end in arrays[ends][arrays[rows][article] : arrays[rows][article + 1]].tolist()
        ]
        # The official files list articles in sorted order, so row after row is file order.
        assert "".join(lines).encode() == text[part]


def test_repacked_official_data_counts_as_official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = shared_folder("data")
    words = (shared / "sgb-words.txt").read_bytes().split()
    (tmp_path / "sgb-words.txt").write_bytes(b"\r\n".join(reversed(words)))
    folder = tmp_path / WIKISPEEDIA.folder
    shutil.copytree(shared / WIKISPEEDIA.folder, folder, copy_function=shutil.copyfile)
    folder.chmod(0o755)
    links = (folder / "links.tsv").read_bytes()
    (folder / "links.tsv").write_bytes(b"# another comment\n" + links.rstrip().replace(b"\n", b"\r\n"))
    games = data_rows((folder / "paths_finished.tsv").read_bytes())
    (folder / "paths_finished.tsv").write_bytes(b"\n".join([*reversed(games), games[7]]))
    official = contents(WORDS), packed(WIKISPEEDIA)
    monkeypatch.setenv("BEELINE_DATA_MIRROR", str(tmp_path))
    assert (contents(WORDS), packed(WIKISPEEDIA)) == official


@pytest.mark.parametrize(
    ("file", "part", "old", "new"),
    [
        ("links.tsv", "links", b"\tBede\n", b"\tBedes\n"),
        ("categories.tsv", "categories", b"subject.People", b"subject.Peoples"),
        ("paths_finished.tsv", "games", b"10th_century;Banknote", b"10th_century;Banknotes"),
        ("sgb-words.txt", "words", b"which\n", b"whics\n"),
    ],
)
def test_altered_official_data_is_refused_by_name(
    file: str, part: str, old: bytes, new: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = shared_folder("data")
    source = WORDS if part == "words" else WIKISPEEDIA
    folder = tmp_path / source.folder
    folder.mkdir(exist_ok=True)
    for name in source.files:
        data = (shared / source.folder / name).read_bytes()
        if name == file:
            assert old in data
            data = data.replace(old, new, 1)
        (folder / name).write_bytes(data)
    monkeypatch.setenv("BEELINE_DATA_MIRROR", str(tmp_path))
    with pytest.raises(DataError, match=rf"{file} in .* is not the official data: its {part} differ"):
        contents(source) if source.pack is None else packed(source)


# Mirrors and the packed form, on invented data


def test_mirror_that_is_missing_or_lacks_a_file(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = small_source(NOWHERE, "0" * 64)
    (mirror / FOLDER / "categories.tsv").unlink()
    with pytest.raises(DataError, match=r"categories\.tsv, which cannot be read.*domains\.download small"):
        contents(source)
    monkeypatch.setenv("BEELINE_DATA_MIRROR", str(mirror / "nowhere"))
    with pytest.raises(DataError, match=r"BEELINE_DATA_MIRROR names .*nowhere, which is not a folder"):
        contents(source)


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00\n", b"one column\n", b"a\tb\tc\td\te\n" * 3])
@pytest.mark.parametrize("file", sorted(FILES))
def test_any_bytes_are_refused_with_a_sentence(mirror: Path, file: str, data: bytes) -> None:
    (mirror / FOLDER / file).write_bytes(data)
    with pytest.raises(DataError, match=f"{file} in .* is not the official data"):
        packed(small_source(NOWHERE, "0" * 64))


def test_order_of_links_and_categories_matters(mirror: Path) -> None:
    for file in ("links.tsv", "categories.tsv"):
        rows = data_rows(FILES[file])
        (mirror / FOLDER / file).write_bytes(b"\n".join([rows[1], rows[0], *rows[2:]]))
        with pytest.raises(DataError, match=file):
            contents(small_source(NOWHERE, "0" * 64))
        (mirror / FOLDER / file).write_bytes(FILES[file])


def packed_files(data: Path) -> list[Path]:
    return sorted((data / "packed").iterdir())


@pytest.mark.parametrize("damage", ["torn", "altered", "empty"])
def test_damaged_packed_file_is_made_again(mirror: Path, tmp_path: Path, damage: str) -> None:
    source = small_source(NOWHERE, "0" * 64)
    right = packed(source)
    (file,) = packed_files(tmp_path / "data")
    assert file.read_bytes() == right
    wrong = {"torn": right[:-3], "altered": right[:-1] + bytes([right[-1] ^ 1]), "empty": b""}[damage]
    file.write_bytes(wrong)
    assert packed(source) == right
    assert file.read_bytes() == right


def test_packed_file_is_used_when_intact(mirror: Path) -> None:
    source = small_source(NOWHERE, "0" * 64)
    right = packed(source)
    object.__setattr__(source, "pack", lambda contents: pytest.fail("packed again"))
    assert packed(source) == right


def test_mirror_altered_after_packing_is_noticed(mirror: Path) -> None:
    source = small_source(NOWHERE, "0" * 64)
    packed(source)
    (mirror / FOLDER / "links.tsv").write_bytes(FILES["links.tsv"].replace(b"Ant\tCat", b"Ant\tCow"))
    with pytest.raises(DataError, match=r"links\.tsv"):
        packed(source)


def test_cache_that_cannot_be_written_is_no_error(mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    source = small_source(NOWHERE, "0" * 64)
    assert sha256(packed(source)).hexdigest() == source.packed_sha256


def test_packing_that_changed_is_a_bug_of_ours(mirror: Path, tmp_path: Path) -> None:
    source = small_source(NOWHERE, "0" * 64)
    object.__setattr__(source, "packed_sha256", "0" * 64)
    with pytest.raises(RuntimeError, match="not the pinned one"):
        packed(source)
    assert not (tmp_path / "data").exists()


def test_games_by_hand() -> None:
    paths = [b"B;A;<;<;C", b"A;B;<", b"A;A", b"A;<", b"<", b"", b"A;C", b"B;C"]
    data = b"".join(b"ip\t0\t1\t" + path + b"\tNULL\n" for path in paths) + b"too\tfew\n"
    assert game_lines(data) == [b"A\tB", b"A\tC", b"B\tC"]


# Files and arrays


def test_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    with pytest.raises(OSError, match="target"):
        write_atomically(tmp_path / "target", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_write_replaces_and_makes_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert [p.name for p in path.parent.iterdir()] == ["b"]


@given(
    st.lists(st.integers(-(2**31), 2**31 - 1)),
    st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))),
)
def test_packed_arrays_come_back(numbers: list[int], strings: list[str]) -> None:
    arrays = {
        "numbers": np.array(numbers, np.int32),
        "strings": pack_strings(strings),
        "big_endian": np.array(numbers, ">i8"),
        "square": np.arange(6, dtype=np.uint8).reshape(2, 3),
    }
    data = pack_arrays(arrays)
    back = unpack_arrays(data)
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].shape == array.shape
        assert back[name].tolist() == array.tolist()
    assert unpack_strings(back["strings"]) == strings
    assert data == pack_arrays(back)


def test_other_bytes_are_no_arrays() -> None:
    with pytest.raises(ValueError, match="not packed arrays"):
        unpack_arrays(b"PK\x03\x04")
