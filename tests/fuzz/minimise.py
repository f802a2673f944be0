"""Chooses the few inputs that reach most code, and writes them into a committed corpus.

Usage: minimise.py <target> [MOST]     e.g. minimise.py spec; MOST files (default 40), 4 kB each
Takes tests/fuzz/corpus/<target> and what tests/fuzz/run.sh left in build/fuzz/corpus/<target>.
libFuzzer's own -merge keeps an input for every new count of every edge: hundreds of files.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 4096


def covered_edges(program, folders):
    """{input file: edges it reaches}, from the control file of libFuzzer's -merge=1."""
    with tempfile.TemporaryDirectory() as scratch:
        control, merged = Path(scratch) / "control", Path(scratch) / "merged"
        merged.mkdir()
        command = [program, "-merge=1", f"-merge_control_file={control}", merged, *folders]
        subprocess.run([str(part) for part in command], check=True, stderr=subprocess.DEVNULL)
        lines = control.read_text().splitlines()
    count = int(lines[0])
    files = [Path(line) for line in lines[2 : 2 + count]]
    edges = {}
    for line in lines[2 + count :]:
        kind, index, *values = line.split()
        if kind == "COV":
            edges[files[int(index)]] = set(values)
    return edges


def choose(edges, most):
    """Greedy set cover: again and again the input with most new edges, the smaller of equal ones."""
    chosen, seen = [], set()
    rest = {f: e for f, e in edges.items() if f.stat().st_size <= MOST_BYTES}
    while rest and len(chosen) < most:
        best = max(rest, key=lambda file: (len(rest[file] - seen), -file.stat().st_size))
        if not rest[best] - seen:
            break
        seen |= rest.pop(best)
        chosen.append(best)
    return chosen


def main(target, most=40):
    committed = ROOT / "tests" / "fuzz" / "corpus" / target
    program = ROOT / "build" / "fuzz" / "tests" / "fuzz" / f"{target}_fuzz"
    found = ROOT / "build" / "fuzz" / "corpus" / target
    folders = [folder for folder in (committed, found) if folder.is_dir()]
    chosen = [file.read_bytes() for file in choose(covered_edges(program, folders), int(most))]
    shutil.rmtree(committed, ignore_errors=True)
    committed.mkdir(parents=True)
    for content in chosen:
        (committed / hashlib.sha1(content).hexdigest()[:12]).write_bytes(content)
    print(f"{target}: {len(chosen)} inputs, {sum(map(len, chosen))} bytes")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
