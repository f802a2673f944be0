"""Where the tests find the program, the schema and the small models."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BINARY = Path(os.environ.get("THINWIRE", REPOSITORY / "build/release/src/cli/thinwire")).resolve()
SCHEMA = REPOSITORY / "schema" / "thinwire.result-1.schema.json"
GOLDEN = REPOSITORY / "tests" / "data" / "golden"
MODELS = GOLDEN / "models"
VIT_TINY = MODELS / "vit-tiny"  # 17 tokens of width 48, 3 blocks
JOBS = REPOSITORY / "jobs"
