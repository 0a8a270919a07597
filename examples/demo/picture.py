"""Frames of terminals as one animated SVG, without a script: a strip of frames that CSS moves through a window."""

from html import escape

ADVANCE = 8.4  # Pixels of a column, forced on every font.
LEADING = 18
FONT = 14
MARGIN = 14
BAR = 28  # The title of a terminal.
GAP = 14
HOLD = 5.0  # Seconds of the last frame.

GROUND, TITLE_GROUND, BORDER, INK, DIM = "#14181f", "#222833", "#3b4454", "#dbe2ec", "#7d8898"
NAMED = {
    "default": INK, "black": "#5a6474", "red": "#ff7b72", "green": "#6fd08c", "brown": "#e3b341",
    "yellow": "#e3b341", "blue": "#6cb6ff", "magenta": "#d2a8ff", "cyan": "#56d4dd", "white": "#f0f6fc",
}


def colour(name):
    """pyte has names for the first colours, and hexadecimal digits for all others."""
    return NAMED.get(name.removeprefix("bright"), f"#{name}" if len(name) == 6 else INK)


def is_plain(style):
    return style == ("default", False, False)


class Classes:
    """A CSS class for each style."""

    def __init__(self):
        self.names = {}

    def name(self, style):
        return self.names.setdefault(style, f"s{len(self.names)}")

    def css(self):
        return "".join(f".{name}{{{self.rule(style)}}}" for style, name in self.names.items())

    @staticmethod
    def rule(style):
        foreground, bold, dim = style
        weight = ";font-weight:bold" if bold else ""
        return f"fill:{DIM if dim else colour(foreground)}{weight}"


def row_text(runs, classes):
    """A row of a terminal. Every run has its place and width, whatever the font is."""
    parts, column = [], 0
    for text, style in runs:
        words = text.strip()
        start = column + len(text) - len(text.lstrip())
        column += len(text)
        if words:
            kind = "" if is_plain(style) else f' class="{classes.name(style)}"'
            width = round(len(words) * ADVANCE, 1)
            place = round(start * ADVANCE, 1)
            parts.append(f'<tspan x="{place}" textLength="{width}"{kind}>{escape(words, False)}</tspan>')
    return "".join(parts)


def picture(frames, rows, columns, titles):
    """The SVG of frames (seconds, a tuple of rows for each terminal)."""
    classes, known, strip = Classes(), {}, []
    width = round(columns * ADVANCE + 2 * MARGIN)
    tops, height = layout(rows)
    for number, (_, terminals) in enumerate(frames):
        uses = []
        for top, terminal in zip(tops, terminals):
            for place, runs in enumerate(terminal):
                text = row_text(runs, classes)
                if text:
                    name = known.setdefault(text, f"r{len(known)}")
                    y = top + BAR + MARGIN + place * LEADING
                    uses.append(f'<use href="#{name}" y="{y}"/>')
        strip.append(f'<g transform="translate({number * width + MARGIN})">{"".join(uses)}</g>')
    defs = "".join(f'<text id="{name}">{text}</text>' for text, name in known.items())
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}">',
        "<title>make demo: a plugin logs each change of a pod, and is replaced while it runs</title>",
        f"<style>{style(frames, width)}{classes.css()}</style>",
        f"<defs>{defs}</defs>",
        *(window(top, count, width, title) for top, count, title in zip(tops, rows, titles)),
        f'<g class="strip">{"".join(strip)}</g>',
        "</svg>\n",
    ])


def layout(rows):
    """The top of each terminal, and the height of all."""
    tops, top = [], 0
    for count in rows:
        tops.append(top)
        top += BAR + 2 * MARGIN + count * LEADING + GAP
    return tops, top - GAP


def window(top, rows, width, title):
    """The ground of a terminal, dark on any page."""
    height = BAR + 2 * MARGIN + rows * LEADING
    dots = "".join(f'<circle cx="{18 + 16 * place}" cy="{top + 14}" r="4.5" fill="{BORDER}"/>' for place in range(3))
    return (
        f'<rect x=".5" y="{top + .5}" width="{width - 1}" height="{height - 1}" rx="8" fill="{GROUND}" stroke="{BORDER}"/>'
        f'<path d="M1 {top + BAR}V{top + 9}a8 8 0 0 1 8-8H{width - 9}a8 8 0 0 1 8 8V{top + BAR}z" fill="{TITLE_GROUND}"/>'
        f'{dots}<text class="title" x="{width / 2}" y="{top + 19}">{escape(title)}</text>'
    )


def style(frames, width):
    """Text, and the steps of the strip. A viewer without animation shows the last frame."""
    total = frames[-1][0] + HOLD
    steps = "".join(
        f"{100 * at / total:.2f}%{{transform:translateX({-number * width}px)}}"
        for number, (at, _) in enumerate(frames)
    )
    still = -(len(frames) - 1) * width
    return (
        f"text{{font:{FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:{INK};"
        "white-space:pre;dominant-baseline:hanging}"
        f".title{{text-anchor:middle;dominant-baseline:auto;fill:{DIM};font-size:12px}}"
        f".strip{{transform:translateX({still}px);animation:play {total:.1f}s step-end infinite}}"
        f"@keyframes play{{{steps}}}"
    )
