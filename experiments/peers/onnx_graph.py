"""Writes a model as an ONNX graph, in the form that an engine runs fastest.

`standard` uses only ONNX's own operators (opset 20), in the shapes that graph optimisers look for.
`fused` uses ONNX Runtime's own attention and normalisation operators, which its optimiser makes of
graphs that other exporters write; it is what ONNX Runtime is timed with.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
IR_VERSION = 10
MICROSOFT = "com.microsoft"


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

    def __call__(self, operator, *inputs, domain="", outputs=1, **attributes):
        names = [f"value_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names


class Writer:
    """What the two forms share: dense layers and the order of things in a block."""

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

    def norm_of_sum(self, x, y, name, norm):
        """(LayerNorm(x + y), x + y)"""
        total = self.graph("Add", x, y)
        return self.norm(total, name, norm), total

    def gelu(self, x):
        return self.graph("Gelu", x, approximate="tanh" if self.shape.tanh_gelu else "none")

    def up(self, x, name, layer):
        return self.gelu(self.dense(x, name, layer))

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

    def blocks(self, x, last_norm):
        """All blocks. Where norms come first, the last one is `last_norm`."""
        if not self.shape.norm_first:
            for number, block in enumerate(self.model.blocks):
                x = self.block_with_norm_last(x, f"block_{number}", block)
            return x
        norms = [(f"block_{number}_norm1", block.norm1)
                 for number, block in enumerate(self.model.blocks)] + [("norm", last_norm)]
        normalised = self.norm(x, *norms[0])
        for number, block in enumerate(self.model.blocks):
            name = f"block_{number}"
            attended = self.dense(self.attention(normalised, name, block.qkv), name + "_output",
                                  block.output)
            normalised, x = self.norm_of_sum(attended, x, name + "_norm2", block.norm2)
            raised = self.up(normalised, name + "_up", block.up)
            normalised, x = self.norm_of_sum(self.dense(raised, name + "_down", block.down), x,
                                             *norms[number + 1])
        return normalised

    def block_with_norm_last(self, x, name, block):
        attended = self.dense(self.attention(x, name, block.qkv), name + "_output", block.output)
        x, _ = self.norm_of_sum(attended, x, name + "_norm1", block.norm1)
        raised = self.up(x, name + "_up", block.up)
        return self.norm_of_sum(self.dense(raised, name + "_down", block.down), x, name + "_norm2",
                                block.norm2)[0]

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
        x = self.blocks(x, self.model.norm("layernorm"))
        return self.dense(self.first_row(x), "classifier", self.model.dense("classifier"))

    def bert(self):
        g, shape, tensors = self.graph, self.shape, self.model.tensors
        x = g("Gather", self.table("embeddings.word_embeddings.weight"), "input")
        added = (tensors["embeddings.position_embeddings.weight"][:shape.tokens]
                 + tensors["embeddings.token_type_embeddings.weight"][0])
        x = g("Add", x, g.constant("positions", added[None]))
        x = self.norm(x, "embedding_norm", self.model.norm("embeddings.LayerNorm"))
        x = self.blocks(x, None)
        pooled = g("Tanh", self.dense(self.first_row(x), "pooler", self.model.dense("pooler.dense")))
        return self.dense(pooled, "classifier", self.model.dense("classifier"))

    def gpt2(self):
        g, shape, tensors = self.graph, self.shape, self.model.tensors
        x = g("Gather", self.table("wte.weight"), "input")
        x = g("Add", x, g.constant("positions", tensors["wpe.weight"][None, :shape.tokens]))
        x = g("Reshape", self.blocks(x, self.model.norm("ln_f")), g.shape(-1, shape.hidden))
        return g("Gemm", x, self.table("wte.weight"), transB=1)  # the head is tied


class FusedWriter(Writer):
    """With ONNX Runtime's own operators."""

    def norm_of_sum(self, x, y, name, norm):
        weight, bias = (self.graph.constant(f"{name}_{part}", values)
                        for part, values in zip(("weight", "bias"), norm))
        normalised, _, _, total = self.graph(
            "SkipLayerNormalization", x, y, weight, bias, domain=MICROSOFT, outputs=4,
            epsilon=self.shape.epsilon)
        return normalised, total

    def up(self, x, name, layer):
        weight, bias = layer
        product = self.graph("MatMul", x, self.graph.constant(name + "_weight", weight))
        operator = "FastGelu" if self.shape.tanh_gelu else "BiasGelu"
        return self.graph(operator, product, self.graph.constant(name + "_bias", bias),
                          domain=MICROSOFT)

    def attention(self, x, name, layer):
        weight, bias = layer
        return self.graph("Attention", x, self.graph.constant(name + "_qkv_weight", weight),
                          self.graph.constant(name + "_qkv_bias", bias), domain=MICROSOFT,
                          num_heads=self.shape.heads, unidirectional=int(self.shape.is_causal))


def _value(name, shape, is_text):
    return helper.make_tensor_value_info(
        name, TensorProto.INT32 if is_text else TensorProto.FLOAT, shape)


def make_graph(model, fused):
    """input: pixels [1, channels, H, W] or ids [1, N]; output: logits [1, labels] or [N, words]."""
    writer = (FusedWriter if fused else Writer)(model)
    config, shape, graph = model.config, model.shape, writer.graph
    graph.nodes.append(helper.make_node(
        "Identity", [getattr(writer, shape.family)()], ["output"]))
    side = None if shape.is_text else config["image_size"]
    taken = [1, shape.tokens] if shape.is_text else [1, config["num_channels"], side, side]
    given = [shape.tokens, config["vocab_size"]] if shape.is_causal else [1, config["num_labels"]]
    made = helper.make_graph(graph.nodes, shape.family, [_value("input", taken, shape.is_text)],
                             [_value("output", given, False)], list(graph.initializers.values()))
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)][:1 + fused]
    return helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION)


def write_graph(model, file, fused):
    onnx.save(make_graph(model, fused), file)
