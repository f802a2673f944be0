#!/usr/bin/env bash
# Times single inferences (fp32, batch 1) of thinwire and of the engines that people would use in its
# place: ONNX Runtime, OpenVINO, AMD's zentorch and PyTorch. Same weights, input and threads, in turn;
# checks that the outputs agree and holds the ratios against targets, also to the bare matrix
# products. Let the machine do nothing else, or put `chrt --rr 1` before (root).
#
# Usage: experiments/peers/latency.sh [--models vit-base-16,bert-base,gpt2] [--threads 1,2]
#            [--engines onnxruntime,openvino,zentorch,inductor,pytorch] [--rounds 25]
#            [--dtype fp32|bf16] [--json FILE] [--quick]
# An engine that is not there is skipped, with a line that says why.
# Settings: PYTHON, an interpreter with NumPy, safetensors, onnx and the engines; else the script
# makes an environment in build/peers-venv (PyTorch as PyPI has it: some GB). THINWIRE_WORKER,
# thinwire's worker; else it is built.
# Exit status: 0 every target is met, 1 one is not, or outputs differ, or no engine took part, 2 bad
# usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source experiments/peers/setup.sh
source scripts/build-program.sh

if [ -z "${PYTHON:-}" ] && ! find_python numpy safetensors onnx onnxruntime openvino zentorch; then
  echo "== engines are missing: installing what this machine can have into $peers_venv" >&2
  make_environment
  install "numpy>=1.24" "safetensors>=0.4" "onnx>=1.16"
  grep -v '^#' experiments/peers/latency-requirements.txt | while read -r requirement; do
    install "$requirement" || echo "== $requirement cannot be installed: skipped" >&2
  done
fi
find_python numpy safetensors || {
  echo "error: $PYTHON has no NumPy or safetensors" >&2
  exit 2
}
build_program THINWIRE_WORKER thinwire_latency_worker experiments/peers/thinwire_latency_worker
exec "$PYTHON" experiments/peers/latency.py --worker "$THINWIRE_WORKER" --folder build/peers "$@"
