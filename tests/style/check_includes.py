"""Checks the include lines of include/ and src/ against the table of rooms.

Usage: check_includes.py <root of the repository>
Prints each violation as file:line: reason; exits with 1 if there is any.
"""

import re
import sys
from pathlib import Path

# What each room may include besides itself: whole rooms, or single headers "room/file.hpp".
FORMULA_HEADERS = {
    "model/model_config.hpp",
    "compress/index_coding.hpp",
    "compress/row_format.hpp",
    "compress/segments.hpp",
    "fabric/link.hpp",
    "fabric/loss.hpp",
    "fabric/rate_trace.hpp",
    "fabric/link_model.hpp",
    "fabric/device_clock.hpp",
}
UP_TO_STRATEGY = {"base", "tensor", "ops", "model", "compress", "fabric", "cost", "strategy"}
MAY_INCLUDE = {
    "base": set(),
    "tensor": {"base"},
    "ops": {"base", "tensor"},
    "model": {"base", "tensor", "ops"},
    "compress": {"base", "tensor", "ops", "model"},
    "fabric": {"base", "tensor"},
    "cost": {"base"} | FORMULA_HEADERS,
    "strategy": UP_TO_STRATEGY,
    "train": UP_TO_STRATEGY,
    "eval": UP_TO_STRATEGY,
    "harness": UP_TO_STRATEGY | {"train", "eval"},
    "cli": {"base", "harness"},
    "link_shim": {"base", "fabric/link.hpp", "fabric/link_model.hpp"},
}
CALLS_MPI = {"fabric", "link_shim"}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
# A formula header stays one: it has no way to what runs.
FORMULA_MAY_INCLUDE = {"base"} | FORMULA_HEADERS


def is_allowed(included: str, allowed: set) -> bool:
    return included.split("/")[0] in allowed or included in allowed


def violation(path: Path, room: str, is_public: bool, included: str) -> str | None:
    """The reason why the file `path` of a room may not include `included`, None if it may.

    `is_public` tells a header below include/ from a file below src/.
    """
    if included == "mpi.h" and (room not in CALLS_MPI or is_public):
        return "MPI is called in src/fabric and src/link_shim only"
    if re.search(r"(^|/)dnnl", included) and (room != "ops" or is_public):
        return "oneDNN is called in src/ops only"
    if not included.startswith("thinwire/"):
        return None
    included = included.removeprefix("thinwire/")
    if f"{room}/{path.name}" in FORMULA_HEADERS:
        if not is_allowed(included, FORMULA_MAY_INCLUDE):
            return f"a formula header may not include {included}"
        return None
    if not is_allowed(included, MAY_INCLUDE[room] | {room}):
        return f"{room} may not include {included}"
    return None


def check_file(path: Path, room: str, is_public: bool) -> list:
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = INCLUDE.match(line)
        reason = violation(path, room, is_public, match.group(1)) if match else None
        if reason:
            found.append(f"{path}:{number}: {reason}")
    return found


def check_tree(root: Path) -> list:
    found = []
    files = 0
    public = root / "include" / "thinwire"
    for base in (public, root / "src"):
        for path in sorted(base.rglob("*.[ch]pp")):
            room = path.relative_to(base).parts[0]
            files += 1
            if room not in MAY_INCLUDE:
                found.append(f"{path}:1: {room} is not a room of the table")
                continue
            found += check_file(path, room, is_public=base == public)
    if files == 0:
        found.append(f"{root}: no sources found")
    return found


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = check_tree(Path(sys.argv[1]))
    print("\n".join(found) if found else "all include lines agree with the table of rooms")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
