#!/usr/bin/env python3
"""Text -> data file; --help explains."""

import sys

from thinwire_prepare.text import main

if __name__ == "__main__":
    sys.exit(main())
