import sys
import time

QUIET_S = 2.0  # shorter work says nothing
BETWEEN_S = 5.0


class Progress:
    """Lines on standard error about work that takes more than two seconds.

    progress = Progress("pictures", 10000); then progress.at(done) as often as you like.
    """

    def __init__(self, what, total, clock=time.monotonic, stream=None):
        self.what, self.total = what, total
        self.clock, self.stream = clock, stream or sys.stderr
        self.start = clock()
        self.said = self.start + QUIET_S - BETWEEN_S  # as if there had been a line

    def at(self, done, note=""):
        now = self.clock()
        if now - self.said < BETWEEN_S:
            return
        self.said = now
        left_s = (now - self.start) * (self.total - done) / max(1, done)
        note = f", {note}" if note else ""
        print(
            f"{self.what}: {done} of {self.total}{note}, {left_s:.0f} s left",
            file=self.stream,
            flush=True,
        )
