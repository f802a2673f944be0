"""Reads the dumps of `valgrind --tool=callgrind`, written with --compress-strings=no
--compress-pos=no --dump-line=no.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

TRIGGER = "desc: Trigger: Client Request: "
# Code without a symbol is named by its address, which changes from build to build.
ADDRESS = re.compile(r"^0x[0-9a-f]+$")


@dataclass
class Dump:
    """number, name: which dump it is, and what the program called it
    functions: instructions by function of the object that was asked for, callees apart
    calls: how often that object called each function of other objects
    """

    number: int = 0
    name: str = ""
    functions: Counter = field(default_factory=Counter)
    calls: Counter = field(default_factory=Counter)


def read_dump(path, program):
    """A dump's counts of the object whose file is `program`."""
    program, dump = str(program), Dump()
    here = there = function = callee = ""
    is_call = False
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition("=")
        if line.startswith(TRIGGER):
            dump.name = line[len(TRIGGER) :]
        elif line.startswith("part: "):
            dump.number = int(line[len("part: ") :])
        elif key == "ob":
            here = there = value
        elif key == "fn":
            function, there = value, here
        elif key == "cob":
            there = value
        elif key == "cfn":
            callee = value
        elif key == "calls":
            is_call = True
            if here == program and there != program:
                dump.calls[callee] += int(value.split()[0])
        elif line[:1].isdigit():
            # The line behind "calls" is what the callee took.
            if here == program and not is_call:
                dump.functions[name_of(function)] += int(line.split()[1])
            is_call, there = False, here
    return dump


def name_of(function):
    """A function's name without what differs from call to call or from build to build."""
    function = re.sub(r"'\d+$", "", function)  # the depth of a recursion
    return "(no symbol)" if ADDRESS.match(function) else function
