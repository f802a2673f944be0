class InputError(Exception):
    """A file or an option is at fault; the text is one line for people."""
