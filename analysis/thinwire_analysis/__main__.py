import sys

from thinwire_analysis.cli import main

sys.exit(main())
