#!/usr/bin/env python3
"""Pictures -> data file; --help explains."""

import sys

from thinwire_prepare.pictures import main

if __name__ == "__main__":
    sys.exit(main())
