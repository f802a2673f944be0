"""ONNX Runtime as a worker (worker_loop.py): FOLDER THREADS DTYPE."""

import sys
from pathlib import Path

from models import read_input
from worker_loop import parse_arguments, work


class OnnxRuntime:
    """Every optimisation, bound input and output: an inference copies nothing."""

    def __init__(self, folder, threads):
        import onnxruntime

        self.version = f"ONNX Runtime {onnxruntime.__version__}"
        settings = onnxruntime.SessionOptions()
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        settings.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
        session = onnxruntime.InferenceSession(
            Path(folder) / "model.onnx", settings, providers=["CPUExecutionProvider"])
        self.session, self.binding = session, session.io_binding()
        self.binding.bind_cpu_input("input", read_input(folder))
        self.binding.bind_output("output", "cpu")

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def output(self):
        return self.binding.copy_outputs_to_cpu()[0]


if __name__ == "__main__":
    given = parse_arguments()
    sys.exit(work(lambda: OnnxRuntime(given.folder, given.threads)))
