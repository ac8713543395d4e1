import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import duals
from simifeat.baselines.confidence_loss import (
    FLOOR,
    confidence_loss,
    loss_gradient,
    sieve,
    sieve_margin,
)


@st.composite
def batches(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, n_classes = draw(st.integers(1, 8)), draw(st.integers(2, 6))
    logits = rng.normal(0, draw(st.sampled_from([0.1, 2.0, 12.0])), (n, n_classes))
    prior = rng.dirichlet(np.ones(n_classes))
    return logits.astype(np.float32), rng.integers(0, n_classes, n), prior.astype(np.float32)


def literal_loss(logits, label, prior, beta):
    """l(f(x), label) - beta * sum_y P(y) l(f(x), y), the mean with the floor."""
    total = sum(math.exp(z) for z in logits)
    shares = [math.exp(z) / total for z in logits]
    mean = sum(p * -math.log(q + FLOOR) for p, q in zip(prior, shares, strict=True))
    return -math.log(shares[label]) - beta * mean


def literal_threshold(logits, prior, beta):
    """1/K sum_y l(f(x), y) - beta * sum_y P(y) l(f(x), y)."""
    total = sum(math.exp(z) for z in logits)
    losses = [-math.log(math.exp(z) / total + FLOOR) for z in logits]
    weighted = sum(p * loss for p, loss in zip(prior, losses, strict=True))
    return sum(losses) / len(losses) - beta * weighted


@given(batches(), st.floats(0, 3))
def test_the_loss_is_its_formula(batch, beta):
    logits, labels, prior = batch
    losses = confidence_loss(logits, labels, prior, beta)
    for n, label in enumerate(labels):
        expected = literal_loss(logits[n].astype(float), label, prior, beta)
        assert losses[n] == pytest.approx(expected, rel=1e-4, abs=2e-4)


@given(batches(), st.floats(0, 3))
def test_the_sieve_passes_losses_below_the_dynamic_threshold(batch, beta):
    logits, labels, prior = batch
    margin, passed = sieve_margin(logits, labels), sieve(logits, labels)
    for n, label in enumerate(labels):
        loss = literal_loss(logits[n].astype(float), label, prior, beta)
        threshold = literal_threshold(logits[n].astype(float), prior, beta)
        assert margin[n] == pytest.approx(threshold - loss, rel=1e-4, abs=2e-4)
        if abs(threshold - loss) > 1e-3:
            assert passed[n] == (loss < threshold)


@given(batches(), st.sampled_from([0.0, 0.5, 2.0]))
def test_the_gradient_is_that_of_automatic_differentiation(batch, beta):
    logits, labels, prior = batch
    slopes = loss_gradient(logits, labels, prior, beta)
    for n, label in enumerate(labels):

        def loss(z, label=label):
            shares = duals.softmax(z)
            mean = duals.Dual(0.0)
            for weight, share in zip(prior, shares, strict=True):
                mean = mean + (share + FLOOR).log() * -float(weight)
            return -shares[label].log() - mean * beta

        shifted = logits[n].astype(float) - logits[n].max()
        np.testing.assert_allclose(slopes[n], duals.gradient(loss, shifted), atol=2e-5)
