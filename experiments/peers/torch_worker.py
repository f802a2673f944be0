"""PyTorch as a worker (worker_loop.py): FOLDER THREADS DTYPE eager|inductor|zentorch."""

import os
import sys

from models import read_input
from worker_loop import parse_arguments, work

# Constant weights may be folded and packed when a graph is compiled: both compilers want it so.
os.environ.setdefault("TORCHINDUCTOR_FREEZING", "1")


class Torch:
    """The module as it is, or compiled by PyTorch's own compiler or AMD's plug-in."""

    def __init__(self, folder, threads, dtype, backend):
        import torch

        self.version = f"PyTorch {torch.__version__.split('+')[0]} {backend}"
        if backend == "zentorch":
            import zentorch

            self.version = f"zentorch {zentorch.__version__}"
        from torch_transformer import load_model

        torch.set_num_threads(threads)
        self.mode = torch.inference_mode
        self.autocast = torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16")
        model = load_model(folder)
        self.model = model if backend == "eager" else torch.compile(model, backend=backend)
        self.input = torch.from_numpy(read_input(folder))
        self.values = None

    def run(self):
        with self.mode(), self.autocast:
            self.values = self.model(self.input)

    def output(self):
        return self.values.float().numpy()


if __name__ == "__main__":
    given = parse_arguments("eager", "inductor", "zentorch")
    sys.exit(work(lambda: Torch(given.folder, given.threads, given.dtype, given.choice)))
