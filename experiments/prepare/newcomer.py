#!/usr/bin/env python3
"""Models and data from PyPI packages for the accuracy study; --help explains."""

import os
import sys

# The matrices are small: threads of BLAS would wait for each other. Read when numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from thinwire_prepare.newcomer import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
