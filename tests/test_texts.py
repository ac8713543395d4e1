from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from simifeat.errors import InputError
from simifeat.features.bert import build_bert
from simifeat.features.registry import open_extractor
from simifeat.features.texts import Transformer, WordVectors
from simifeat.io.records import Unreadable

WIDTH, HEADS, LAYERS = 8, 2, 2
WORDS = ["[UNK]", "[PAD]", "the", "cat", "sat", "on", "a", "mat"]


def tokenizer():
    """Words at spaces, nothing more."""
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    parts = {"version": "1.0", "model": model, "pre_tokenizer": {"type": "Whitespace"}}
    return json.dumps({"added_tokens": [], **parts}).encode()


def bert_weights(seed=0):
    rng = np.random.default_rng(seed)

    def drawn(*shape):
        return (rng.normal(size=shape) * 0.5).astype(np.float32)

    weights = {
        "embeddings.word_embeddings.weight": drawn(len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": drawn(10, WIDTH),
        "embeddings.token_type_embeddings.weight": drawn(2, WIDTH),
    }
    norms = ["embeddings.LayerNorm"]
    for number in range(LAYERS):
        name = f"encoder.layer.{number}"
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            weights[f"{name}.attention.{part}.weight"] = drawn(WIDTH, WIDTH)
            weights[f"{name}.attention.{part}.bias"] = drawn(WIDTH)
        weights[f"{name}.intermediate.dense.weight"] = drawn(3 * WIDTH, WIDTH)
        weights[f"{name}.intermediate.dense.bias"] = drawn(3 * WIDTH)
        weights[f"{name}.output.dense.weight"] = drawn(WIDTH, 3 * WIDTH)
        weights[f"{name}.output.dense.bias"] = drawn(WIDTH)
    for norm in norms:
        weights[f"{norm}.weight"], weights[f"{norm}.bias"] = 1 + drawn(WIDTH), drawn(WIDTH)
    return weights


def literal_bert(weights, ids):
    """The last layer [t, d] of one text, token by token and head by head."""

    def linear(row, name):
        return weights[f"{name}.weight"] @ row + weights[f"{name}.bias"]

    def norm(row, name):
        centred = (row - row.mean()) / math.sqrt(row.var() + 1e-12)
        return weights[f"{name}.weight"] * centred + weights[f"{name}.bias"]

    def gelu(row):
        return np.array([x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in row])

    rows = [
        norm(
            weights["embeddings.word_embeddings.weight"][token]
            + weights["embeddings.position_embeddings.weight"][place]
            + weights["embeddings.token_type_embeddings.weight"][0],
            "embeddings.LayerNorm",
        )
        for place, token in enumerate(ids)
    ]
    size = WIDTH // HEADS
    for number in range(LAYERS):
        name = f"encoder.layer.{number}"
        query, key, value = (
            [linear(row, f"{name}.attention.self.{part}") for row in rows]
            for part in ("query", "key", "value")
        )
        following = []
        for place, row in enumerate(rows):
            mixed = np.zeros(WIDTH)
            for head in range(HEADS):
                part = slice(head * size, (head + 1) * size)
                scores = [query[place][part] @ k[part] / math.sqrt(size) for k in key]
                shares = np.exp(scores) / np.exp(scores).sum()
                mixed[part] = sum(s * v[part] for s, v in zip(shares, value, strict=True))
            attended = norm(
                row + linear(mixed, f"{name}.attention.output.dense"),
                f"{name}.attention.output.LayerNorm",
            )
            inner = gelu(linear(attended, f"{name}.intermediate.dense"))
            following.append(
                norm(attended + linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
            )
        rows = following
    return np.array(rows)


@pytest.mark.parametrize("pooling", ["mean", "first"])
@pytest.mark.parametrize("names", ["of today", "of Google's file"])
def test_a_bert_is_its_equations_whatever_the_padding(pooling, names):
    weights = bert_weights()
    given = weights
    if names == "of Google's file":
        given = {
            "bert."
            + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): value
            for name, value in weights.items()
        }
    network = Transformer("test", build_bert(given, HEADS, "test", pooling), tokenizer(), 9)
    texts = ["the cat", "the cat sat on a mat", "mat", "a dog sat"]
    found = network.run(texts)
    for text, row in zip(texts, found, strict=True):
        ids = [WORDS.index(word) if word in WORDS else 0 for word in text.split()]
        last = literal_bert(weights, ids)
        wanted = last.mean(axis=0) if pooling == "mean" else last[0]
        np.testing.assert_allclose(row, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(network.run([texts[0]])[0], found[0], rtol=1e-4, atol=1e-6)


def test_texts_are_cut_off():
    network = Transformer("test", build_bert(bert_weights(), HEADS, "test"), tokenizer(), 3)
    found = network.run(["the cat sat on a mat", "the cat sat"])
    np.testing.assert_array_equal(found[0], found[1])


def test_word_vectors_are_averaged():
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32)
    extractor = WordVectors("test", vectors, tokenizer(), 3)
    found = extractor.run(["the cat", "mat mat sat on on on"])
    np.testing.assert_allclose(found[0], (vectors[2] + vectors[3]) / 2, rtol=1e-6)
    np.testing.assert_allclose(found[1], (2 * vectors[7] + vectors[4]) / 3, rtol=1e-6)


def test_wordllama_is_what_its_own_library_computes():
    wordllama = pytest.importorskip("wordllama")
    from wordllama import WordLlama

    folder = Path(wordllama.__file__).parent
    own = WordLlama.load(cache_dir=folder, disable_download=True)
    texts = ["The cat sat on the mat.", "Oil prices rose", "¿Qué tal? 你好"]
    extractor = open_extractor("wordllama", "text")
    found = extractor.run([extractor.prepare(text) for text in texts])
    np.testing.assert_allclose(found, own.embed(texts, norm=False), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("content", ["", " \n", "--- !!", "…"])
def test_a_text_without_letters_or_digits_is_none(content):
    with pytest.raises(Unreadable, match="^no letters or digits in the text$"):
        open_extractor("wordllama", "text").prepare(content)


def test_what_does_not_fit_is_said():
    with pytest.raises(InputError, match="the tokenizer of test cannot be read"):
        WordVectors("test", np.zeros((1, 1), np.float32), b"{}", 3)
    with pytest.raises(InputError, match=r"lack the tensor 'embeddings.word_embeddings.weight'"):
        build_bert({}, 2, "test")
    with pytest.raises(InputError) as caught:
        open_extractor("efficientnet-lite0", "text")
    assert str(caught.value).startswith(
        "the extractor 'efficientnet-lite0' reads image records, and these are text records; "
        "choose one of wordllama, minilm, bge-small, bert-base, onnx:, sentence-transformers:"
    )
