"""python -m analysis.report: one HTML page from result files, run from the repository's root."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # thinwire_analysis, not installed

try:
    from thinwire_analysis.html_report.cli import main
except ModuleNotFoundError as missing:
    print(
        f"error: Python package {missing.name} is missing: "
        "pip install -r analysis/requirements.txt, or use build/venv/bin/python",
        file=sys.stderr,
    )
    sys.exit(2)

if __name__ == "__main__":
    sys.exit(main())
