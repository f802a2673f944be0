class InputError(Exception):
    """An option, a file or a download is at fault; the text is one line for people."""
