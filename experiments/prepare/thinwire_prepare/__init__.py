"""Turns pictures and text into thinwire's data files (docs/data-files.md)."""
