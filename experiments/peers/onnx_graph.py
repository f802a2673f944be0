"""Writes a model as an ONNX graph, for ONNX Runtime and OpenVINO.

The graph has only ONNX's own operators (opset 20: LayerNormalization and Gelu are one node each), in
the shapes that both engines' optimisers look for. ONNX Runtime's own Attention, MultiHeadAttention,
SkipLayerNormalization and BiasGelu, written out, were not faster than what it makes of this graph.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
IR_VERSION = 10


class Graph:
    """Nodes and initialisers that are being put together; calling it adds a node."""

    def __init__(self):
        self.nodes, self.initializers = [], {}

    def constant(self, name, values):
        """An initialiser, written once whatever how often it is named."""
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(np.asarray(values, order="C"), name)
        return name

    def shape(self, *sizes):
        name = "shape_" + "_".join(str(size).replace("-", "m") for size in sizes)
        return self.constant(name, np.array(sizes, dtype=np.int64))

    def __call__(self, operator, *inputs, **attributes):
        name = f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name


class Writer:
    """Puts a model's graph together; every function returns the name of what it computes."""

    def __init__(self, model):
        self.model, self.shape, self.graph = model, model.shape, Graph()

    def dense(self, x, name, layer):
        weight, bias = layer
        product = self.graph("MatMul", x, self.graph.constant(name + "_weight", weight))
        return self.graph("Add", product, self.graph.constant(name + "_bias", bias))

    def norm(self, x, name, norm):
        weight, bias = norm
        return self.graph("LayerNormalization", x, self.graph.constant(name + "_weight", weight),
                          self.graph.constant(name + "_bias", bias), axis=-1,
                          epsilon=self.shape.epsilon)

    def feed_forward(self, x, name, block):
        raised = self.graph("Gelu", self.dense(x, name + "_up", block.up),
                            approximate="tanh" if self.shape.tanh_gelu else "none")
        return self.dense(raised, name + "_down", block.down)

    def attention(self, x, name, layer):
        """Heads beside each other [1, N, D] from x [1, N, D]."""
        g, shape = self.graph, self.shape
        head = shape.hidden // shape.heads
        weights, biases = np.split(layer[0], 3, axis=1), np.split(layer[1], 3)
        query, key, value = (
            g("Reshape", self.dense(x, f"{name}_{part}", (weight, bias)),
              g.shape(1, shape.tokens, shape.heads, head))
            for part, weight, bias in zip("qkv", weights, biases))
        query, value = (g("Transpose", each, perm=[0, 2, 1, 3]) for each in (query, value))
        scores = g("MatMul", query, g("Transpose", key, perm=[0, 2, 3, 1]))
        scores = g("Mul", scores, g.constant("scale", np.array(head ** -0.5, dtype=np.float32)))
        if shape.is_causal:
            hidden = np.triu(np.full((shape.tokens,) * 2, -1e30, dtype=np.float32), 1)
            scores = g("Add", scores, g.constant("mask", hidden[None, None]))
        attended = g("MatMul", g("Softmax", scores, axis=-1), value)
        attended = g("Transpose", attended, perm=[0, 2, 1, 3])
        return g("Reshape", attended, g.shape(1, shape.tokens, shape.hidden))

    def block(self, x, name, block):
        def attend(rows):
            return self.dense(self.attention(rows, name, block.qkv), name + "_output", block.output)

        if self.shape.norm_first:
            x = self.graph("Add", x, attend(self.norm(x, name + "_norm1", block.norm1)))
            normalised = self.norm(x, name + "_norm2", block.norm2)
            return self.graph("Add", x, self.feed_forward(normalised, name, block))
        x = self.norm(self.graph("Add", x, attend(x)), name + "_norm1", block.norm1)
        x = self.graph("Add", x, self.feed_forward(x, name, block))
        return self.norm(x, name + "_norm2", block.norm2)

    def blocks(self, x):
        for number, block in enumerate(self.model.blocks):
            x = self.block(x, f"block_{number}", block)
        return x

    def table(self, name):
        return self.graph.constant(name, self.model.tensors[name])

    def first_row(self, x):
        return self.graph("Gather", x, self.graph.constant("first", np.array(0, dtype=np.int64)),
                          axis=1)

    def vit(self):
        g, shape, tensors = self.graph, self.shape, self.model.tensors
        patches, patch = "embeddings.patch_embeddings.projection", self.model.config["patch_size"]
        x = g("Conv", "input", self.table(patches + ".weight"), self.table(patches + ".bias"),
              kernel_shape=[patch, patch], strides=[patch, patch])
        x = g("Transpose", g("Reshape", x, g.shape(1, shape.hidden, -1)), perm=[0, 2, 1])
        positions = tensors["embeddings.position_embeddings"]
        x = g("Concat", self.table("embeddings.cls_token"), x, axis=1)
        x = g("Add", x, g.constant("positions", positions))
        x = self.norm(self.first_row(self.blocks(x)), "norm", self.model.norm("layernorm"))
        return self.dense(x, "classifier", self.model.dense("classifier"))

    def bert(self):
        g, shape, tensors = self.graph, self.shape, self.model.tensors
        x = g("Gather", self.table("embeddings.word_embeddings.weight"), "input")
        added = (tensors["embeddings.position_embeddings.weight"][:shape.tokens]
                 + tensors["embeddings.token_type_embeddings.weight"][0])
        x = g("Add", x, g.constant("positions", added[None]))
        x = self.norm(x, "embedding_norm", self.model.norm("embeddings.LayerNorm"))
        first = self.first_row(self.blocks(x))
        pooled = g("Tanh", self.dense(first, "pooler", self.model.dense("pooler.dense")))
        return self.dense(pooled, "classifier", self.model.dense("classifier"))

    def gpt2(self):
        g, shape, tensors = self.graph, self.shape, self.model.tensors
        x = g("Gather", self.table("wte.weight"), "input")
        x = g("Add", x, g.constant("positions", tensors["wpe.weight"][None, :shape.tokens]))
        x = self.norm(self.blocks(x), "norm", self.model.norm("ln_f"))
        x = g("Reshape", x, g.shape(shape.tokens, shape.hidden))
        return g("Gemm", x, self.table("wte.weight"), transB=1)  # the head is tied


def _value(name, shape, is_text):
    return helper.make_tensor_value_info(
        name, TensorProto.INT32 if is_text else TensorProto.FLOAT, shape)


def make_graph(model):
    """input: pixels [1, channels, H, W] or ids [1, N]; output: logits [1, labels] or [N, words]."""
    writer = Writer(model)
    config, shape, graph = model.config, model.shape, writer.graph
    graph.nodes.append(helper.make_node(
        "Identity", [getattr(writer, shape.family)()], ["output"]))
    side = None if shape.is_text else config["image_size"]
    taken = [1, shape.tokens] if shape.is_text else [1, config["num_channels"], side, side]
    given = [shape.tokens, config["vocab_size"]] if shape.is_causal else [1, config["num_labels"]]
    made = helper.make_graph(graph.nodes, shape.family, [_value("input", taken, shape.is_text)],
                             [_value("output", given, False)], list(graph.initializers.values()))
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)],
                             ir_version=IR_VERSION)


def write_graph(model, file):
    onnx.save(make_graph(model), file)
