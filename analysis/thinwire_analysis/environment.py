"""A record's environment as a flat list."""


def flat(section, prefix=""):
    """(name, value) of every figure of nested sections, whose names are joined by a space."""
    for key, value in section.items():
        name = f"{prefix}{key.replace('_', ' ')}"
        if isinstance(value, dict):
            yield from flat(value, f"{name} ")
        elif value is not None:
            yield name, value
