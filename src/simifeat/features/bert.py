"""BERT and its small descendants up to a text's mean or first token, from a state dict."""

from __future__ import annotations

from typing import Literal

import numpy as np

from simifeat.features.layers import Layers, Weights

_EPS = 1e-12  # layer norm
_FAR = -1e9  # added to the attention that padding would get


def build_bert(
    weights: Weights, n_heads: int, name: str, pooling: Literal["mean", "first"] = "mean"
) -> bytes:
    """The ONNX file: ``input_ids`` and ``attention_mask`` int64 [n, t] to ``features`` [n, d].

    Features are the mean of the last layer over the tokens that are not padding, or its first
    token.
    """
    layers = Layers(name, _named(weights))
    ids = layers.graph.input("input_ids", "int64", ["n", "t"])
    mask = layers.graph.input("attention_mask", "int64", ["n", "t"])
    words = layers.weight("embeddings.word_embeddings.weight")  # [vocabulary, d]
    width = words.shape[1]
    value = layers.node("Gather", layers.constant(words), ids)
    value = layers.node("Add", value, _positions(layers, mask))
    first_type = layers.weight("embeddings.token_type_embeddings.weight")[0]
    value = layers.node("Add", value, layers.constant(first_type))
    value = layers.layer_norm(value, "embeddings.LayerNorm", _EPS)
    seen = layers.node("Cast", mask, to=1)  # [n, t], 1 for a token, 0 for padding
    bias = _bias(layers, seen)
    number = 0
    while layers.has(f"encoder.layer.{number}.output.dense.weight"):
        value = _block(layers, value, f"encoder.layer.{number}", n_heads, width, bias)
        number += 1
    pooled = _mean(layers, value, seen) if pooling == "mean" else layers.first_token(value)
    layers.features(pooled, width)
    return layers.model()


def _named(weights: Weights) -> Weights:
    """Names as they are today: Google's file says gamma and beta, and puts bert before all."""
    old = (("gamma", "weight"), ("beta", "bias"))
    named = {}
    for name, value in weights.items():
        for before, now in old:
            if name.endswith(f"LayerNorm.{before}"):
                name = f"{name.removesuffix(before)}{now}"
        named[name.removeprefix("bert.")] = value
    return named


def _positions(layers: Layers, mask: str) -> str:
    """The embedding of each token's place; that of padding does not matter."""
    table = layers.constant(layers.weight("embeddings.position_embeddings.weight"))
    counted = layers.node("CumSum", mask, layers.constant(np.array(1, np.int64)))
    places = layers.node("Sub", counted, layers.constant(np.array(1, np.int64)))
    none_below = layers.node("Max", places, layers.constant(np.array(0, np.int64)))
    return layers.node("Gather", table, none_below)


def _bias(layers: Layers, seen: str) -> str:
    """0 for tokens and far below it for padding, [n, 1, 1, t]."""
    one = layers.constant(np.array(1, np.float32))
    hidden = layers.node("Sub", one, seen)
    far = layers.node("Mul", hidden, layers.constant(np.array(_FAR, np.float32)))
    return layers.node("Unsqueeze", far, layers.constant(np.array([1, 2], np.int64)))


def _block(layers: Layers, value: str, name: str, n_heads: int, width: int, bias: str) -> str:
    query, key, content = (
        layers.linear(value, f"{name}.attention.self.{part}") for part in ("query", "key", "value")
    )
    mixed = layers.attention(query, key, content, n_heads, width, bias)
    mixed = layers.linear(mixed, f"{name}.attention.output.dense")
    value = layers.node("Add", value, mixed)
    value = layers.layer_norm(value, f"{name}.attention.output.LayerNorm", _EPS)
    inner = layers.gelu(layers.linear(value, f"{name}.intermediate.dense"))
    value = layers.node("Add", value, layers.linear(inner, f"{name}.output.dense"))
    return layers.layer_norm(value, f"{name}.output.LayerNorm", _EPS)


def _mean(layers: Layers, value: str, seen: str) -> str:
    """The mean over tokens, [n, d]."""
    over_tokens = layers.constant(np.array([1], np.int64))
    weights = layers.node("Unsqueeze", seen, layers.constant(np.array([2], np.int64)))
    weighted = layers.node("Mul", value, weights)
    total = layers.node("ReduceSum", weighted, over_tokens, keepdims=0)
    count = layers.node("ReduceSum", weights, over_tokens, keepdims=0)
    return layers.node("Div", total, count)
