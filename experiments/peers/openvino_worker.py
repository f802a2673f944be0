"""OpenVINO as a worker (worker_loop.py): FOLDER THREADS DTYPE."""

import sys
from pathlib import Path

from models import read_input
from worker_loop import parse_arguments, work

PRECISIONS = {"fp32": "f32", "bf16": "bf16"}


class OpenVino:
    """Made for latency, with the threads and the precision that are asked for."""

    def __init__(self, folder, threads, dtype):
        import openvino

        self.version = f"OpenVINO {openvino.__version__.split('-')[0]}"
        model = openvino.Core().compile_model(Path(folder) / "model.onnx", "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": PRECISIONS[dtype]})
        self.input = read_input(folder)  # borrowed by the request
        self.request = model.create_infer_request()
        self.request.set_input_tensor(openvino.Tensor(self.input, shared_memory=True))

    def run(self):
        self.request.infer()

    def output(self):
        return self.request.get_output_tensor().data


if __name__ == "__main__":
    given = parse_arguments()
    sys.exit(work(lambda: OpenVino(given.folder, given.threads, given.dtype)))
