"""What thinwire reads of a Hugging Face config.json: sizes, activation and head of a model."""

from dataclasses import dataclass

from thinwire_train.errors import InputError

GELU_FORMS = {"gelu": "none", "gelu_new": "tanh", "gelu_fast": "tanh", "gelu_pytorch_tanh": "tanh"}
LABELS_WITHOUT_KEYS = 2  # Hugging Face's default


@dataclass(frozen=True)
class ModelConfig:
    """Symbols of METHODS 1 are spelled out; `gelu` is what torch calls the form."""

    family: str  # vit, bert or gpt2
    head: str  # class_token, pooler, mean_pooling or language_model
    hidden: int  # D
    layers: int  # B
    heads: int  # h
    ffn: int  # F
    epsilon: float
    gelu: str
    max_tokens: int  # rows of the position table; for pictures also N
    labels: int = 0
    vocabulary: int = 0
    token_types: int = 0
    image_size: int = 0
    patch: int = 0
    channels: int = 0
    qkv_bias: bool = True

    @property
    def is_text(self):
        return self.family != "vit"

    @property
    def is_causal(self):
        return self.family == "gpt2"

    @property
    def is_pre_norm(self):
        return self.family != "bert"


def read_config(keys, has_classifier, name):
    """config.json as a dictionary -> ModelConfig; InputError names the key at fault.

    has_classifier: whether the weights have one, which decides between BERT's two heads.
    """
    family = keys.get("model_type")
    readers = {"vit": _vit, "bert": _bert, "gpt2": _gpt2}
    if family not in readers:
        known = ", ".join(readers)
        raise InputError(f'config.json of {name}: "model_type" is {family!r} (supported: {known})')
    try:
        config = readers[family](keys, has_classifier)
    except KeyError as error:
        raise InputError(f"config.json of {name}: {error} is missing or not supported") from None
    if config.hidden % config.heads != 0:
        raise InputError(
            f"config.json of {name}: {config.heads} heads do not divide a hidden size of "
            f"{config.hidden}"
        )
    return config


def _encoder(keys):
    return {
        "hidden": keys["hidden_size"],
        "layers": keys["num_hidden_layers"],
        "heads": keys["num_attention_heads"],
        "ffn": keys["intermediate_size"],
        "epsilon": keys["layer_norm_eps"],
        "gelu": GELU_FORMS[keys["hidden_act"]],
    }


def _labels(keys):
    names = keys.get("id2label")
    return len(names) if names else keys.get("num_labels") or LABELS_WITHOUT_KEYS


def _vit(keys, _):
    side = keys["image_size"] // keys["patch_size"]
    return ModelConfig(
        family="vit",
        head="class_token",
        **_encoder(keys),
        labels=_labels(keys),
        image_size=keys["image_size"],
        patch=keys["patch_size"],
        channels=keys["num_channels"],
        max_tokens=side * side + 1,
        qkv_bias=keys.get("qkv_bias", True),
    )


def _bert(keys, has_classifier):
    return ModelConfig(
        family="bert",
        head="pooler" if has_classifier else "mean_pooling",
        **_encoder(keys),
        labels=_labels(keys) if has_classifier else 0,
        max_tokens=keys["max_position_embeddings"],
        vocabulary=keys["vocab_size"],
        token_types=keys["type_vocab_size"],
    )


def _gpt2(keys, _):
    return ModelConfig(
        family="gpt2",
        head="language_model",
        hidden=keys["n_embd"],
        layers=keys["n_layer"],
        heads=keys["n_head"],
        ffn=keys.get("n_inner") or 4 * keys["n_embd"],
        epsilon=keys["layer_norm_epsilon"],
        gelu=GELU_FORMS[keys["activation_function"]],
        max_tokens=keys["n_positions"],
        vocabulary=keys["vocab_size"],
    )
