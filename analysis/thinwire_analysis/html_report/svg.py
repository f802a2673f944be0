"""Figures as SVG inside a page: they take its colours and clash with no other figure's names."""

import io
import re

from markupsafe import Markup

from thinwire_analysis.figures import Sheet

# (columns, inches a panel): a row of two on a desktop, one below the other on a phone.
WIDE, NARROW = (2, None), (1, 3.4)
SINGLE_PANEL_INCHES = 7.0
PIXELS_PER_UNIT = 1.45  # at most: a figure of one panel need not fill the page
# Colours of the palette that the page lightens on a dark ground; see report.css.
THEMED = {
    "#000000": "ink",
    "#ffffff": "paper",
    "#555555": "soft",
    "#b0b0b0": "grid",
    "#0072b2": "blue",
    "#56b4e9": "sky",
    "#d55e00": "red",
    "#cc79a7": "pink",
    "#009e73": "green",
    "#332288": "indigo",
    "#882255": "wine",
}


def inline_svg(figure, key):
    """The figure drawn for wide and for narrow pages, each as Markup; `key` is unique in the page."""
    return tuple(
        _inline(_drawn(figure, columns, inches), f"{key}-{name}", figure.title)
        for name, (columns, inches) in (("w", WIDE), ("n", NARROW))
    )


def _drawn(figure, columns, inches):
    buffer = io.BytesIO()
    figure.draw(Sheet(buffer, "svg", columns=columns, panel_inches=inches, titled=False))
    return buffer.getvalue().decode("utf-8")


def _inline(text, key, title):
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{key}-\1"', text)
    text = re.sub(r'xlink:href="#([^"]+)"', rf'href="#{key}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{key}-\1)", text)
    for colour, name in THEMED.items():
        text = re.sub(re.escape(colour) + r"\b", f"var(--plot-{name})", text, flags=re.I)
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', text).group(1))
    view_box = re.search(r'viewBox="[^"]+"', text).group(0)
    opening = (
        f'<svg {view_box} role="img" aria-labelledby="{key}-title" '
        f'style="max-width: {width * PIXELS_PER_UNIT:.0f}px">'
        f'<title id="{key}-title">{Markup.escape(title)}</title>'
    )
    return Markup(opening + text[text.index(">") + 1 :])
