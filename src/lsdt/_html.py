"""Cards that notebooks show for values: plain HTML and inline SVG, readable on light and dark pages.

Text has the colour of the page; lines and areas are shades of it, or one of a few colours that stand out on
both white and black. All text from users is escaped here: functions take plain text, and only an `Html` value
passes unchanged. Of large values only a sample is shown, and no card runs an expensive computation.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

# Chosen by eye, so that a card fits on one screen.
MOST_NAMES = 24  # arms listed by name
MOST_ROWS = 12  # rows of a table
MOST_DRAWN = 40  # arms in a picture with a mark per arm
BLUE, ORANGE, GREEN, PURPLE = "#2f86c9", "#d55e00", "#009e73", "#b565a7"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#c08a00", "#3fa3a3", "#8c8c8c")

_MOST_TEXT = 400  # characters shown of one value; chosen by eye
_JOINERS = "\u200c\u200d"  # without which some scripts and emoji fall apart
_FONT = 'font-family="system-ui,sans-serif"'
_STYLE = """\
.lsdt{font:13px/1.5 system-ui,sans-serif;color:inherit;border:1px solid rgba(128,128,128,.4);\
border-radius:6px;padding:.6em .9em;margin:.4em 0;max-width:60em;overflow-x:auto;box-sizing:border-box}
.lsdt-head{margin-bottom:.35em;overflow-wrap:anywhere}.lsdt-head b{margin-right:.5em}.lsdt-dim{opacity:.72}
.lsdt p{margin:.4em 0;max-width:50em;white-space:pre-line;overflow-wrap:anywhere}
.lsdt table{border-collapse:collapse;margin:.4em 0;font:inherit;border:0}
.lsdt tr,.lsdt tbody tr:nth-child(odd){background:none}
.lsdt th,.lsdt td{text-align:left;padding:.1em 1.1em .1em 0;border:0;vertical-align:top;font-weight:normal;\
max-width:34em;overflow-wrap:anywhere;white-space:normal}
.lsdt th{opacity:.72;white-space:nowrap}.lsdt td.lsdt-n{text-align:right;font-variant-numeric:tabular-nums}
.lsdt summary{cursor:pointer;margin:.3em 0}.lsdt details>*:not(summary){margin-left:1em}
.lsdt-name{display:inline-block;border:1px solid rgba(128,128,128,.4);border-radius:4px;padding:0 .45em;\
margin:.1em .3em .1em 0;overflow-wrap:anywhere}
.lsdt-panel{display:inline-block;margin:.3em 1.2em .3em 0;vertical-align:top;overflow-wrap:anywhere}
.lsdt-key{margin-right:1.1em;white-space:nowrap}.lsdt-key svg{margin-right:.35em}
.lsdt svg{max-width:100%;vertical-align:middle}"""


class Html(str):
    """Text that is already HTML, with everything from users escaped."""

    __slots__ = ()


# ---------------------------------------------------------------- words and numbers


def escaped(value: object, most: int = _MOST_TEXT) -> Html:
    """Return a value as escaped text, cut in the middle if longer than `most`, without control characters.

    Characters that do not print are written as escape sequences.
    """
    if isinstance(value, Html):
        return value
    plain = str(value)
    if len(plain) > most:
        plain = f"{plain[: most - most // 4]} … {plain[-(most // 4) :]}"
    if not plain.isprintable():
        plain = "".join(
            one if one.isprintable() or one in _JOINERS else one.encode("unicode_escape").decode()
            for one in plain
        )
    return Html(escape(plain))


def paragraph(words: str, *, dim: bool = False) -> Html:
    """Return text as a paragraph that keeps its line breaks."""
    kind = ' class="lsdt-dim"' if dim else ""
    return Html(f"<p{kind}>{'<br>'.join(escaped(line, 2_000) for line in words.splitlines()[:200])}</p>")


def shown(value: Any) -> Html:
    """Return any value in a few words: numbers rounded, arrays and lists by their size and a sample."""
    if isinstance(value, Html):
        return value
    if value is None:
        return Html("–")
    if isinstance(value, (bool, np.bool_)):
        return Html("yes" if value else "no")
    if isinstance(value, (int, np.integer)):
        return escaped(f"{int(value):,}" if abs(int(value)) < 10**15 else int(value))
    if isinstance(value, (float, np.floating)):
        return Html(_rounded(float(value)))
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Mapping):
        few = [f"{escaped(name)}: {shown(one)}" for name, one in list(value.items())[:MOST_ROWS]]
        return Html(", ".join(few) + _more(len(value) - MOST_ROWS))
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        few = [str(shown(one)) for one in value[:8]]
        return Html((", ".join(few) or "none") + _more(len(value) - 8))
    if callable(value) and hasattr(value, "__name__"):
        return escaped(f"{value.__name__}()")
    return escaped(value)


def _rounded(value: float) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.4g}".replace("-", "−")


def _array(values: NDArray[Any]) -> Html:
    if values.dtype.kind not in "biuf" or values.size == 0:
        return escaped(f"{values.size:,} values" if values.size else "none")
    if values.size <= 8:
        return Html(", ".join(str(shown(one)) for one in values.ravel().tolist()))
    size = " × ".join(f"{length:,}" for length in values.shape)
    if values.dtype.kind == "b":
        return Html(f"{size} flags, {int(values.sum()):,} set")
    finite = values if values.dtype.kind != "f" else values[np.isfinite(values)]
    if finite.size == 0:
        return Html(f"{size} numbers, none finite")
    left = values.size - finite.size
    others = f", {left:,} not finite" if left else ""
    low, high = (str(shown(end)) for end in (finite.min().item(), finite.max().item()))
    return Html(f"{size} numbers from {low} to {high}{others}")


def _more(n_left: int) -> str:
    return f" <span class='lsdt-dim'>… and {n_left:,} more</span>" if n_left > 0 else ""


# ---------------------------------------------------------------- parts of a card


def card(kind: str, lead: object, *parts: Html) -> Html:
    """Return a card: a heading with the kind of value and a lead line, then the parts."""
    head = f'<div class="lsdt-head"><b>{escaped(kind)}</b><span>{escaped(lead, 2_000)}</span></div>'
    return Html(f'<div class="lsdt"><style>{_STYLE}</style>{head}{"".join(parts)}</div>')


def facts(known: Mapping[str, Any]) -> Html:
    """Return a table of names and values; entries that are None or empty are left out."""
    rows = [
        f"<tr><th>{escaped(name)}</th><td>{shown(value)}</td></tr>"
        for name, value in known.items()
        if value is not None and not (isinstance(value, (str, tuple, list, dict)) and not value)
    ]
    return Html(f"<table><tbody>{''.join(rows)}</tbody></table>" if rows else "")


def html_table(names: Sequence[str], rows: Sequence[Sequence[Any]], n_rows: int | None = None) -> Html:
    """Return a table of the first rows, and how many are left out.

    `n_rows` is the total number of rows, if `rows` holds only the first of them.
    """
    if not rows:
        return Html("")
    head = "".join(f"<th>{escaped(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:MOST_ROWS])
    left = (len(rows) if n_rows is None else n_rows) - min(len(rows), MOST_ROWS)
    more = f"<p class='lsdt-dim'>and {left:,} more</p>" if left > 0 else ""
    return Html(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}")


def _cell(value: Any) -> str:
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))
    kind = " class='lsdt-n'" if is_number else ""
    return f"<td{kind}>{shown(value)}</td>"


def fold(summary: object, *parts: Html) -> Html:
    """Return a section that opens when its summary is clicked; empty if the parts are empty."""
    inside = "".join(parts)
    return Html(f"<details><summary>{escaped(summary)}</summary>{inside}</details>" if inside else "")


def name_list(labels: Iterable[object], n_names: int) -> Html:
    """Return the first few of `n_names` names, framed, and how many follow; `labels` may end after them."""
    few: list[str] = []
    for label in labels:
        if len(few) == MOST_NAMES:
            break
        few.append(f'<span class="lsdt-name"><bdi>{escaped(label, 60)}</bdi></span>')
    return Html(f"<div>{''.join(few)}{_more(n_names - len(few))}</div>") if few else Html("")


def remarks(notes: Iterable[str]) -> Html:
    """Return notes, one paragraph each, in dimmed text."""
    return Html("".join(paragraph(note, dim=True) for note in notes))


# ---------------------------------------------------------------- pictures


def _svg(width: float, height: float, label: str, *inside: str) -> Html:
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    title = escaped(label)
    return Html(
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}">'
        f"<title>{title}</title>{''.join(inside)}</svg>"
    )


def _swatch(paint: str) -> str:
    return f'<svg width="10" height="10" aria-hidden="true"><rect width="10" height="10" {paint}/></svg>'


def _paint(colour: str | None) -> str:
    return f'fill="{colour}"' if colour else 'fill="currentColor" fill-opacity=".22"'


def share_bar(parts: Sequence[tuple[str, float, str | None]]) -> Html:
    """Return a bar divided into parts (name, size, colour); the colour None is a shade of the text colour."""
    parts = [part for part in parts if part[1] > 0]
    total = sum(size for _, size, _ in parts)
    if not parts:
        return Html("")
    drawn, at = [], 0.0
    for _, size, colour in parts:
        width = 520.0 * size / total
        drawn.append(f'<rect x="{at:.1f}" width="{max(width - 1.0, 0.6):.1f}" height="12" {_paint(colour)}/>')
        at += width
    keys = "".join(
        f'<span class="lsdt-key">{_swatch(_paint(colour))}{escaped(name)} {shown(size)}</span>'
        for name, size, colour in parts
    )
    label = ", ".join(f"{name} {size:,.0f}" for name, size, _ in parts)
    return Html(f"<div>{_svg(520, 12, label, *drawn)}</div><div>{keys}</div>")


def histogram(heights: NDArray[Any], low: float, high: float, label: str) -> Html:
    """Return a histogram of the given bar heights over an interval, with its ends written below."""
    width, tall, most = 320.0, 44.0, float(max(heights.max(initial=0), 1))
    step = width / max(len(heights), 1)
    bars = [
        f'<rect x="{at * step:.1f}" y="{tall - tall * height / most:.1f}" width="{max(step - 0.6, 0.5):.1f}" '
        f'height="{tall * height / most:.1f}" fill="{BLUE}"/>'
        for at, height in enumerate(heights.tolist())
        if height
    ]
    axis = f'<line x2="{width:g}" y1="{tall:g}" y2="{tall:g}" stroke="currentColor" stroke-opacity=".5"/>'
    ends = _ends(width, tall + 13.0, low, high)
    return Html(
        f'<div class="lsdt-panel"><div class="lsdt-dim">{escaped(label)}</div>'
        f"{_svg(width, tall + 16.0, label, *bars, axis, ends)}</div>"
    )


def _ends(width: float, y: float, low: float, high: float) -> str:
    style = f'font-size="10" fill="currentColor" fill-opacity=".75" {_FONT}'
    return (
        f'<text x="0" y="{y:g}" {style}>{shown(low)}</text>'
        f'<text x="{width:g}" y="{y:g}" text-anchor="end" {style}>{shown(high)}</text>'
    )


def curve(
    name: str,
    x: NDArray[Any],
    middle: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    top: float,
    bottom: float = 0.0,
    colour: str = BLUE,
) -> Html:
    """Return one small panel: a curve with its band, on scales shared by all panels, and its last value."""
    width, tall = 160.0, 70.0
    span, reach = (top - bottom) or 1.0, float(x[-1] - min(x[0], 0)) or 1.0
    known = np.isfinite(middle)

    def points(values: NDArray[np.float64], which: NDArray[np.bool_]) -> list[str]:
        across = (x[which] - min(x[0], 0)) / reach * width
        down = tall - np.clip((values[which] - bottom) / span, 0.0, 1.0) * tall
        return [f"{a:.1f},{b:.1f}" for a, b in zip(across.tolist(), down.tolist(), strict=True)]

    banded = known & np.isfinite(low) & np.isfinite(high)
    band = points(high, banded) + points(low, banded)[::-1]
    axes = f'<path d="M0 0V{tall:g}H{width:g}" fill="none" stroke="currentColor" stroke-opacity=".45"/>'
    area = f'<polygon points="{" ".join(band)}" fill="{colour}" fill-opacity=".25"/>' if band else ""
    course = " ".join(points(middle, known))
    line = f'<polyline points="{course}" fill="none" stroke="{colour}" stroke-width="1.8"/>'
    last = middle[known][-1] if known.any() else math.nan
    label = f"{name}: {_rounded(float(last))} after {int(x[-1]):,}"
    return Html(
        f'<div class="lsdt-panel" style="width:{width:g}px"><div><bdi>{escaped(name, 40)}</bdi></div>'
        f"{_svg(width, tall + 1.0, label, axes, area, line)}"
        f'<div class="lsdt-dim">{_rounded(float(last))}</div></div>'
    )


def whiskers(middle: float, low: float, high: float, least: float, most: float) -> Html:
    """Return a dot with whiskers on the scale from `least` to `most`, for a table cell."""
    width, span = 130.0, (most - least) or 1.0
    at, start, end = (
        6.0 + (width - 12.0) * min(max((value - least) / span, 0.0), 1.0) if math.isfinite(value) else None
        for value in (middle, low, high)
    )
    drawn = '<line x1="0" x2="130" y1="8" y2="8" stroke="currentColor" stroke-opacity=".18"/>'
    if start is not None and end is not None:
        drawn += f'<line x1="{start:.1f}" x2="{end:.1f}" y1="8" y2="8" stroke="{BLUE}" stroke-width="2.5"/>'
    if at is not None:
        drawn += f'<circle cx="{at:.1f}" cy="8" r="4" fill="{BLUE}"/>'
    return _svg(width, 16, f"{_rounded(middle)}, from {_rounded(low)} to {_rounded(high)}", drawn)


def level_bar(value: float, most: float, colour: str | None = None) -> Html:
    """Return a bar whose full length stands for `most`, for a table cell."""
    width = 90.0 * min(max(value / most, 0.0), 1.0) if most > 0 and math.isfinite(value) else 0.0
    return _svg(90, 10, _rounded(value), f'<rect width="{width:.1f}" height="10" {_paint(colour or BLUE)}/>')


def matrix(n_arms: int, similar: Iterable[Sequence[int]], dissimilar: Iterable[Sequence[int]]) -> Html:
    """Return the pairs of a few arms as a square: blue cells for similar, orange ones for dissimilar."""
    cell = 5.0 if n_arms > 20 else 8.0 if n_arms > 12 else 14.0
    width = cell * n_arms

    def squares(pairs: Iterable[Sequence[int]]) -> str:
        both = ((a, b) for pair in pairs for a, b in ((pair[0], pair[1]), (pair[1], pair[0])))
        side = cell - 1.0
        return "".join(f"M{a * cell:g} {b * cell:g}h{side:g}v{side:g}h-{side:g}z" for a, b in both)

    frame = (
        f'<rect width="{width:g}" height="{width:g}" fill="none" stroke="currentColor" stroke-opacity=".3"/>'
    )
    diagonal = f'<path d="M0 0L{width:g} {width:g}" stroke="currentColor" stroke-opacity=".3"/>'
    near = f'<path d="{squares(similar)}" fill="{BLUE}"/>'
    apart = f'<path d="{squares(dissimilar)}" fill="{ORANGE}" fill-opacity=".55"/>'
    return Html(
        '<div class="lsdt-panel"><div class="lsdt-dim">arms by arms</div>'
        f"{_svg(width, width, 'similar and dissimilar pairs', frame, diagonal, near, apart)}</div>"
    )


def intervals(left: NDArray[np.float64], width: float, label: str) -> Html:
    """Return a few intervals of the same length, one per row, ordered by their left ends."""
    low, reach = float(left.min()), float(np.ptp(left)) + width
    bars = [
        f'<rect x="{400.0 * (start - low) / reach:.1f}" y="{7 * row + 1}" '
        f'width="{400.0 * width / reach:.1f}" height="5" fill="{BLUE}"/>'
        for row, start in enumerate(np.sort(left).tolist())
    ]
    drawn = _svg(400, 7.0 * len(bars) + 2.0, label, *bars)
    return Html(f'<div class="lsdt-panel"><div class="lsdt-dim">{escaped(label)}</div>{drawn}</div>')


def relation_graph(relations: Sequence[Sequence[Any]], centre: object = None, most: int = 12) -> Html:
    """Return a drawing of relations (a, b, word, ...) between arms on a circle.

    It is empty unless there are 2 to `most` arms. Similar pairs are joined by lines, dissimilar ones by
    dashes, and an arrow points from the better arm to the worse one.
    """
    arms = list(dict.fromkeys(arm for relation in relations for arm in relation[:2]))
    if centre in arms:
        arms = [centre, *(arm for arm in arms if arm != centre)]
    if not 2 <= len(arms) <= most:
        return Html("")
    width = 480.0
    turn = [2.0 * math.pi * at / len(arms) - math.pi / 2.0 for at in range(len(arms))]
    place = {
        arm: (width / 2 + 95.0 * math.cos(a), 88.0 + 66.0 * math.sin(a))
        for arm, a in zip(arms, turn, strict=True)
    }
    tall = max(y for _, y in place.values()) + 24.0
    arrow = (
        '<marker id="lsdt-arrow" viewBox="0 0 8 8" refX="13" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0 0L8 4L0 8z" fill="currentColor"/></marker>'
    )
    drawn = [f"<defs>{arrow}</defs>"]
    strokes = {
        "similar": 'stroke="currentColor" stroke-width="1.6"',
        "dissimilar": f'stroke="{ORANGE}" stroke-width="1.6" stroke-dasharray="5 4"',
        "better": 'stroke="currentColor" stroke-width="1.2" marker-end="url(#lsdt-arrow)"',
    }
    for relation in relations:
        (x1, y1), (x2, y2) = place[relation[0]], place[relation[1]]
        stroke = strokes.get(relation[2], 'stroke="currentColor" stroke-opacity=".6" stroke-dasharray="1 3"')
        drawn.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {stroke}/>')
    for arm, (x, y) in place.items():
        colour = "#8c8c8c" if arm == centre else BLUE
        drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{colour}"/>')
        anchor = "middle" if abs(x - width / 2) < 5 else "start" if x > width / 2 else "end"
        dx = {"middle": 0, "start": 10, "end": -10}[anchor]
        dy = 4 if dx else -10 if y < 88.0 else 18
        drawn.append(
            f'<text x="{x + dx:.1f}" y="{y + dy:.1f}" text-anchor="{anchor}" font-size="11" '
            f'fill="currentColor" {_FONT}>{escaped(arm, 18)}</text>'
        )
    words = [word for word in strokes if any(relation[2] == word for relation in relations)]
    label = f"{len(arms)} arms, {' and '.join(words)} pairs"
    keys = {
        "similar": "line: similar",
        "dissimilar": "dashes: dissimilar",
        "better": "arrow: to the worse arm",
    }
    legend = ", ".join(keys[word] for word in words)
    return Html(f'<div>{_svg(width, tall, label, *drawn)}</div><div class="lsdt-dim">{legend}</div>')


# ---------------------------------------------------------------- any value


def fields_card(value: Any) -> Html:
    """Return a card with the fields of a named tuple or dataclass; a field ``text`` becomes the lead line."""
    if is_dataclass(value):
        listed: Collection[str] = [
            one.name for one in fields(value) if one.repr and not one.name.startswith("_")
        ]
    else:
        listed = value._fields
    known = {name: getattr(value, name) for name in listed}
    lead = known.pop("text", "")
    return card(type(value).__name__, lead, facts({name.replace("_", " "): known[name] for name in known}))
