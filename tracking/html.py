"""A document as one HTML file: nothing is loaded, nothing is run, every figure is inside.

All text passes through :func:`html.escape`; a policy in the page forbids scripts and requests besides.
Light and dark follow the reader's system, and paper is always light.
"""

from __future__ import annotations

from html import escape

from tracking.document import Alarms, Block, Document, Grid, Heading, Picture, Text

__all__ = ["render"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --ink: #24292f; --soft: #57606a; --ground: #ffffff; --line: #d0d7de;
  --stripe: #f6f8fa; --alarm: #fff1e5; --alarm-line: #bc4c00; }
@media (prefers-color-scheme: dark) { :root { --ink: #d7dde4; --soft: #9aa4af; --ground: #15191e;
  --line: #3a424b; --stripe: #1d232a; --alarm: #3a2413; --alarm-line: #f0883e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 60rem; color: var(--ink);
  background: var(--ground); font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-bottom: .25rem;
  border-bottom: 1px solid var(--line); }
h3 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
h4 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
p { margin: .5rem 0; max-width: 46rem; }
.small, figcaption, caption { color: var(--soft); font-size: .85rem; }
.lede { color: var(--soft); }
.alarms { border-left: 4px solid var(--alarm-line); background: var(--alarm); padding: .6rem 1rem;
  margin: 1rem 0; }
.alarms ul { margin: .3rem 0; padding-left: 1.2rem; }
nav ul { columns: 2; padding-left: 1.2rem; margin: .6rem 0; }
a { color: inherit; }
.scroll { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; color: var(--ink); padding-bottom: .25rem; }
th, td { padding: .22rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line);
  overflow-wrap: normal; }
th { font-weight: 600; vertical-align: bottom; }
th.w, td.w { text-align: left; }
th.l, td.l { white-space: normal; max-width: 20rem; min-width: 14rem; overflow-wrap: anywhere; }
tbody th, td { vertical-align: top; }
tbody th { font-weight: 500; }
tbody tr:nth-child(even) { background: var(--stripe); }
tr.aside { color: var(--soft); font-style: italic; }
figure { margin: 1rem 0; }
figure .scroll { margin: 0 0 .3rem; }
figure svg { display: block; width: 100%; min-width: 30rem; max-width: 46rem; height: auto;
  color: var(--ink); }
figure svg text { font-family: "DejaVu Sans", Verdana, system-ui, sans-serif !important; }
@media (max-width: 40rem) { nav ul { columns: 1; } }
@media print {
  :root { --ink: #000; --soft: #444; --ground: #fff; --line: #bbb; --stripe: #f6f6f6; --alarm: #fff; }
  @page { size: A4; margin: 15mm; }
  body { padding: 0; max-width: none; font-size: 10pt; }
  nav { display: none; }
  h1, h2, h3, h4 { break-after: avoid; }
  h2 + p, h3 + p { break-after: avoid; }
  figure, table, tr, .alarms { break-inside: avoid; }
  .scroll { overflow: visible; }
  table { font-size: 7.5pt; max-width: 100%; }
  th, td { padding: .12rem .3rem; }
  th.l, td.l { min-width: 6rem; max-width: 12rem; }
  th.w { white-space: normal; }
  figure svg { min-width: 0; max-width: 165mm; margin: 0 auto; }
}
"""


def render(document: Document) -> str:
    """The page."""
    anchors = _anchors(document)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f"<title>{_safe(document.title)}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        "<header>",
        f"<h1>{_safe(document.title)}</h1>",
        f'<p class="lede">{_safe(document.lede)}</p>',
        "</header>",
        "<main>",
    ]
    # What must be known first stands above the table of contents too.
    blocks = list(document.blocks)
    while blocks and isinstance(blocks[0], Alarms | Text):
        parts.append(_block(blocks.pop(0), anchors))
    if len(anchors) > 2:
        parts.append(_contents(blocks, anchors))
    parts += [_block(block, anchors) for block in blocks]
    parts += ["</main>", "</body>", "</html>"]
    return "\n".join(parts) + "\n"


def _anchors(document: Document) -> dict[int, str]:
    headings = [block for block in document.blocks if isinstance(block, Heading)]
    return {id(heading): f"s{number}" for number, heading in enumerate(headings, start=1)}


def _contents(blocks: list[Block], anchors: dict[int, str]) -> str:
    items = [
        f'<li><a href="#{anchors[id(block)]}">{_safe(block.text)}</a></li>'
        for block in blocks
        if isinstance(block, Heading) and block.level <= 3
    ]
    return f'<nav aria-label="Contents"><ul>{"".join(items)}</ul></nav>'


def _block(block: Block, anchors: dict[int, str]) -> str:
    if isinstance(block, Heading):
        return f'<h{block.level} id="{anchors[id(block)]}">{_safe(block.text)}</h{block.level}>'
    if isinstance(block, Text):
        return f'<p class="small">{_safe(block.text)}</p>' if block.small else f"<p>{_safe(block.text)}</p>"
    if isinstance(block, Alarms):
        items = "".join(f"<li>{_safe(line)}</li>" for line in block.lines)
        return f'<section class="alarms"><strong>Before any number</strong><ul>{items}</ul></section>'
    if isinstance(block, Grid):
        return _grid(block)
    return _picture(block)


def _grid(grid: Grid) -> str:
    def tag(name: str, at: int, cell: str, scope: str = "") -> str:
        kinds = ["w"] if at == 0 or at in grid.words else []
        kinds += ["l"] if len(cell) > 32 else []
        kind = f' class="{" ".join(kinds)}"' if kinds else ""
        return f"<{name}{kind}{scope}>{_safe(cell)}</{name}>"

    head = "".join(tag("th", at, cell, ' scope="col"') for at, cell in enumerate(grid.headings))
    rows = []
    for place, row in enumerate(grid.rows):
        cells = tag("th", 0, row[0], ' scope="row"')
        cells += "".join(tag("td", at, cell) for at, cell in enumerate(row[1:], start=1))
        rows.append(f'<tr class="aside">{cells}</tr>' if place in grid.aside else f"<tr>{cells}</tr>")
    caption = f"<caption>{_safe(grid.title)}</caption>" if grid.title else ""
    notes = "".join(f'<p class="small">{_safe(note)}</p>' for note in grid.notes)
    table = (
        f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table>"
    )
    return f'<div class="scroll" tabindex="0">{table}</div>{notes}'


def _picture(picture: Picture) -> str:
    from tracking.figures_style import as_svg, inline, styled

    with styled():
        svg = as_svg(picture.draw())
    label = f"{picture.title}. {picture.caption}" if picture.caption else picture.title
    caption = f"<figcaption>{_safe(picture.caption)}</figcaption>" if picture.caption else ""
    return f'<figure><div class="scroll">{inline(svg, picture.name, _visible(label))}</div>{caption}</figure>'


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def _safe(text: str) -> str:
    return escape(_visible(text), quote=True)
