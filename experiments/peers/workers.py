"""The script's side of the line protocol (worker_loop.py): processes that wait stopped.

A worker that is not asked is stopped by a signal, so that no engine's idle threads spin while
another one is timed.
"""

import ctypes
import os
import select
import signal
import subprocess

START_S = 900  # compiling a graph takes minutes
ANSWER_S = 120


PR_SET_PDEATHSIG = 1  # of Linux's prctl


def _end_with_parent():
    """Before a worker's program starts: a stopped process would outlive the script unseen."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Skipped(Exception):
    """The engine cannot take part; says why in one line."""


class WorkerError(Exception):
    """A worker that took part did not answer as agreed."""


class Worker:
    """One engine's process: running from the first line to the last, stopped in between."""

    def __init__(self, name, command, environment=None, log=None):
        """Starts the process; started() waits until it is ready.

        log: a file for what the worker prints besides its answers.
        Raises Skipped when there is no such program.
        """
        self.name, self.version = name, None
        self._log = log
        with open(log or os.devnull, "wb") as errors:
            try:
                self._process = subprocess.Popen(
                    [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=errors, env={**os.environ, **(environment or {})}, bufsize=0,
                    preexec_fn=_end_with_parent)
            except OSError as reason:
                raise Skipped(f"{command[0]}: {reason.strerror}") from None
        self._rest = b""

    def started(self):
        """Waits for "ready VERSION"; raises Skipped when the engine cannot take part."""
        try:
            self.version = self._answer("ready", START_S)
        except WorkerError as reason:
            self.end()
            raise Skipped(str(reason).removeprefix(f"{self.name}: ")) from None
        self._process.send_signal(signal.SIGSTOP)
        return self

    def seconds(self, command="run"):
        """Of one inference ("run"), or of what else the worker times by name."""
        return float(self._ask(command, "seconds"))

    def write_output(self, file):
        """The outputs of an inference, as raw fp32; returns their number."""
        return int(self._ask(f"output {file}", "written"))

    def end(self):
        """Ends the process, whatever its state."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def _ask(self, command, answer):
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.stdin.write(f"{command}\n".encode())
        except BrokenPipeError:
            raise WorkerError(f"{self.name}: ended{self._last_words()}") from None
        value = self._answer(answer, ANSWER_S)
        self._process.send_signal(signal.SIGSTOP)
        return value

    def _answer(self, expected, seconds):
        line = self._line(seconds)
        word, _, value = line.partition(" ")
        if word == "skipped":
            raise WorkerError(f"{self.name}: {value}")
        if word != expected:
            raise WorkerError(f"{self.name}: answered \"{line}\" where \"{expected} ...\" was due")
        return value

    def _line(self, seconds):
        while b"\n" not in self._rest:
            if not select.select([self._process.stdout], [], [], seconds)[0]:
                raise WorkerError(f"{self.name}: no answer within {seconds} s")
            more = self._process.stdout.read(4096)
            if not more:
                raise WorkerError(f"{self.name}: ended{self._last_words()}")
            self._rest += more
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()

    def _last_words(self):
        """Behind a colon, the last line of the log."""
        if self._log is None:
            return ""
        with open(self._log, errors="replace") as log:
            lines = [line.strip() for line in log if line.strip()]
        return f": {lines[-1][:200]}" if lines else ""
