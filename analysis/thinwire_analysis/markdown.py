"""Data frames as Markdown tables."""


def to_markdown(table):
    """A pipe table of the frame's text; the first column is left-aligned, numbers right-aligned."""
    header = [str(name) for name in table.columns]
    body = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join(_line(cells) for cells in [header, rule, *body]) + "\n"


def _cell(value):
    return str(value).replace("|", "\\|")


def _line(cells):
    return "| " + " | ".join(cells) + " |"
