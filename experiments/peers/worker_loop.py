"""A worker's side of the line protocol: one engine, warm, that runs when it is asked to.

    -> (start)        <- "ready VERSION", or "skipped WHY" and the end
    -> "run"          <- "seconds S": one inference, by a monotonic clock inside the worker
    -> "output FILE"  <- "written N": the last inference's N outputs as raw fp32
    -> "quit" or end of input: the worker ends
"""

import argparse
import os
import sys
import time

import numpy as np

WARM_UP = 3


def _answers():
    """A stream for answers alone: whatever else prints to standard output goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return answers


def _serve(engine, commands, answers):
    for line in commands:
        command, _, argument = line.strip().partition(" ")
        if command == "run":
            start = time.monotonic()
            engine.run()
            print(f"seconds {time.monotonic() - start:.9f}", file=answers)
        elif command == "output":
            values = np.ascontiguousarray(engine.output(), dtype=np.float32)
            values.tofile(argument)
            print(f"written {values.size}", file=answers)
        elif command == "quit":
            return
        else:
            print(f"error unknown command {command}", file=answers)


def work(make_engine, commands=None, answers=None):
    """Makes the engine and serves until the end; returns the exit status.

    An engine has `version`, `run()` and `output()`. Whatever keeps it from its first inference
    means that it is skipped, with the reason in one line.
    """
    answers = answers or _answers()
    try:
        engine = make_engine()
        for _ in range(WARM_UP):
            engine.run()
    except Exception as reason:  # of another project's code: any
        text = " ".join(str(reason).split()) or "no reason given"
        print(f"skipped {type(reason).__name__}: {text[:200]}", file=answers)
        return 1
    print(f"ready {engine.version}", file=answers)
    _serve(engine, commands or sys.stdin, answers)
    return 0


def parse_arguments(*choices):
    """FOLDER THREADS DTYPE, and what the worker offers as a last argument."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", help="of the model")
    parser.add_argument("threads", type=int)
    parser.add_argument("dtype", choices=["fp32", "bf16"])
    if choices:
        parser.add_argument("choice", choices=choices)
    return parser.parse_args()
