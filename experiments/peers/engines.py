"""How each engine's worker is started."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOM = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Engine:
    """A worker's command, for a model's folder, threads and element type."""

    script: str
    words: tuple = ()
    environment: dict = field(default_factory=dict)
    has_bf16: bool = True

    def command(self, folder, threads, dtype):
        return [sys.executable, ROOM / self.script, folder, threads, dtype, *self.words]


PEERS = {
    "onnxruntime": Engine("onnxruntime_worker.py", has_bf16=False),
    "openvino": Engine("openvino_worker.py"),
    "zentorch": Engine("torch_worker.py", ("zentorch",)),
    "inductor": Engine("torch_worker.py", ("inductor",)),
    "pytorch": Engine("torch_worker.py", ("eager",)),
}
# As thinwire sets it for itself (src/cli/launcher.cpp).
OUR_ENVIRONMENT = {"GOMP_SPINCOUNT": "4000"}


def our_command(worker, folder, threads, dtype):
    """thinwire's worker (latency_worker.cpp); fp32 is its default."""
    options = [f"model={folder}", f"threads={threads}"]
    return [worker, Path(folder) / "input.bin", *options,
            *([f"dtype={dtype}"] if dtype != "fp32" else [])]
