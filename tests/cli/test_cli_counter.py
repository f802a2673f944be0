"""The operation counter checked from outside: oneDNN's own log of every product it computed.

Products with weights are oneDNN's in bf16; attention's two are not, and are known from the softmax
between them.
"""

import math
import re

import pytest

VERBOSE = {"DNNL_VERBOSE": "1", "ONEDNN_VERBOSE": "1"}  # the older and the newer name
# A log file a rank: mpirun would mix the lines of ranks that write to one standard output.
RANK_LOG = ("bash", "-c", 'exec "$@" >"log.$$"', "bash")
MPIRUN = ("mpirun", "--oversubscribe", "--bind-to", "none", "-n")
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
ONE_PASS = ("--iterations", "1", "--warmup", "0", "--threads", "1", "--dtype", "bf16")
HEAD_DIM = {"vit-tiny": 16, "bert-base": 64}
SHAPES = re.compile(r"(?P<source>\d+(?:x\d+)+):(?P<weights>\d+(?:x\d+)+)")


def product_macs(line):
    """Multiply-accumulates of one logged product, from its shapes [..., M, K] and [..., K, N].

    None when the line logs something else (a reorder, the creation of a primitive).
    """
    if ",exec,cpu,matmul," not in line:
        return None
    # Layouts look like shapes to a loose pattern, so only fields that begin with one count.
    field = next(f for f in line.split(",") if SHAPES.match(f))
    match = SHAPES.match(field)
    source, weights = ([int(n) for n in match[key].split("x")] for key in ("source", "weights"))
    assert source[-1] == weights[-2], line
    batch = max(math.prod(source[:-2]), math.prod(weights[:-2]))
    return batch * source[-2] * source[-1] * weights[-1]


def logged_macs(text):
    return sum(macs for macs in map(product_macs, text.splitlines()) if macs is not None)


def test_both_generations_of_the_log_are_understood():
    old = (
        "onednn_verbose,exec,cpu,matmul,brg:avx512_core,undef,src_f32::blocked:ab:f0 "
        "wei_f32::blocked:BA16a64b:f0 bia_f32::blocked:ab:f0_mask2 dst_f32::blocked:ab:f0,,,"
        "197x768:768x3072:197x3072,1.2"
    )
    new = (
        "onednn_verbose,primitive,exec,cpu,matmul,brg_matmul:avx512_core,undef,src:f32::blocked:"
        "ab::f0 wei:f32::blocked:BA16a64b::f0 dst:f32::blocked:ab::f0,,,12x5x64:12x64x7,0.1"
    )

    assert product_macs(old) == 197 * 768 * 3072
    assert product_macs(new) == 12 * 5 * 64 * 7
    assert product_macs(old.replace(",exec,", ",create:cache_hit,")) is None
    assert product_macs(old.replace(",matmul,", ",reorder,")) is None


@pytest.mark.parametrize(
    "devices, options",
    [
        (1, ("--strategy", "single")),
        (3, ("--strategy", "voltage")),
        (2, ("--strategy", "prism", "--segments", "3")),
        (2, ("--strategy", "prism", "--segments", "3", "--scaling", "duplicate")),
    ],
    ids=["single", "voltage", "prism", "duplicate"],
)
@pytest.mark.parametrize("model", ["vit-tiny", "bert-base"])
@pytest.mark.usefixtures("has_bf16")
def test_logged_products_add_up_to_the_counter(model, devices, options, thinwire, vit_tiny):
    name = vit_tiny if model == "vit-tiny" else model
    arguments = ("--model", name, *options, "--devices", devices, *ONE_PASS)

    done = thinwire(
        "run",
        *arguments,
        "--json",
        "result.jsonl",
        prefix=(*MPIRUN, devices, *RANK_LOG),
        environment={**VERBOSE, **AS_ROOT},
    )

    assert done.returncode == 0, done.stderr
    logs = sorted(thinwire.folder.glob("log.*"))
    assert len(logs) == devices
    (record,) = thinwire.read("result.jsonl")
    counted = record["operations"]["by_kind"]
    attention = 2 * HEAD_DIM[model] * counted["softmax_elements"]
    logged = sum(logged_macs(log.read_text(encoding="utf-8")) for log in logs)
    assert logged > 0
    assert logged + attention == counted["matmul_macs"]
