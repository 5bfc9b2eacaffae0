"""A document as Markdown, its figures as files in a folder beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracking.document import Alarms, Block, Document, Grid, Heading, Picture, Text

__all__ = ["escaped", "render", "row"]


def render(document: Document, folder: str) -> tuple[str, dict[str, bytes]]:
    """The text, and the files it shows by name: an SVG and a PNG a figure. ``folder`` is the name of
    theirs, as a link from the text gives it."""
    parts = [f"# {escaped(document.title)}", escaped(document.lede)]
    files: dict[str, bytes] = {}
    for block in document.blocks:
        if isinstance(block, Picture):
            parts.append(_picture(block, folder, files))
        else:
            parts.append(_block(block))
    return "\n\n".join(part for part in parts if part) + "\n", files


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {escaped(block.text)}"
    if isinstance(block, Text):
        return escaped(block.text)
    if isinstance(block, Alarms):
        return "\n".join(f"- **{escaped(line)}**" for line in block.lines)
    assert isinstance(block, Grid)
    return _grid(block)


def _grid(grid: Grid) -> str:
    lines = [f"**{escaped(grid.title)}**", ""] if grid.title else []
    lines.append(row(grid.headings))
    lines.append(
        "|"
        + "|".join("---" if at == 0 or at in grid.words else "---:" for at in range(len(grid.headings)))
        + "|"
    )
    lines += [row(cells) for cells in grid.rows]
    for note in grid.notes:
        lines += ["", escaped(note)]
    return "\n".join(lines)


def _picture(picture: Picture, folder: str, files: dict[str, bytes]) -> str:
    from tracking.figures_style import as_png, as_svg, styled

    with styled():
        drawn = picture.draw()
        files[f"{picture.name}.svg"] = as_svg(drawn).encode("utf-8", "backslashreplace")
        files[f"{picture.name}.png"] = as_png(drawn)
    alt = escaped(picture.title)
    text = f"![{alt}]({folder}/{picture.name}.svg)"
    return f"{text}\n\n{escaped(picture.caption)}" if picture.caption else text


def row(cells: Sequence[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(escaped(cell) for cell in cells) + " |"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line, and reads no HTML or link in."""
    text = "".join(c if c.isprintable() else "?" for c in text)
    text = re.sub(r"([\\|*_`\[\]~])", r"\\\1", text).replace("<", "&lt;")
    return re.sub(r"^(#+|[-+>]|\d+\.)(?=\s)", r"\\\1", text)
