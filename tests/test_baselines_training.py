import numpy as np
import pytest

from simifeat.baselines.confidence_loss import sieve
from simifeat.baselines.linear import LinearTrainer
from simifeat.baselines.training import (
    Checkpoint,
    Objective,
    Recipe,
    Remembering,
    Training,
    out_of_sample,
    softmax,
)
from simifeat.errors import InputError


def test_the_recipe_is_the_papers():
    recipe = Recipe()
    assert [epoch + 1 for epoch in range(100) if recipe.keeps(epoch)] == [40, 50, 60, 100]
    assert [recipe.rate(epoch) for epoch in (0, 49)] == [0.1, 0.1]
    assert [recipe.rate(epoch) for epoch in (50, 99)] == pytest.approx([0.01, 0.01])


def test_the_weight_of_the_regulariser_rises_from_epoch_10_to_40():
    objective = Objective(beta_max=2.0, sieve_from=0.3)
    assert [objective.beta(epoch, 100) for epoch in (0, 10, 25, 40, 99)] == [0, 0, 1, 2, 2]
    assert [objective.sieves(epoch, 100) for epoch in (0, 29, 30, 99)] == [False, False, True, True]
    assert not Objective().sieves(99, 100)


def test_a_recipe_that_trains_nothing_is_refused():
    with pytest.raises(InputError, match="at least 1 epoch and batches of at least 1, got 0 epoch"):
        Recipe(n_epochs=0)


def literal_training(features, codes, n_classes, recipe, objective, seed):
    """Gradient descent example by example in double precision, the same order of batches."""
    x = features - features.mean(axis=0)
    x = x / np.sqrt((x**2).sum(axis=1).mean())
    x = np.hstack([x, np.ones((len(x), 1))])
    prior = np.bincount(codes, minlength=n_classes) / len(codes)
    weights = np.zeros((x.shape[1], n_classes))
    velocity = np.zeros_like(weights)
    rng = np.random.default_rng(seed)
    for epoch in range(recipe.n_epochs):
        order = rng.permutation(np.arange(len(x)))
        beta = objective.beta(epoch, recipe.n_epochs)
        rate = 0.1 if epoch < recipe.n_epochs / 2 else 0.01
        for start in range(0, len(order), recipe.batch_size):
            total, count = np.zeros_like(weights), 0
            for n in order[start : start + recipe.batch_size]:
                logits = x[n] @ weights
                if objective.sieves(epoch, recipe.n_epochs) and not sieve(
                    logits[None].astype(np.float32), codes[[n]]
                ):
                    continue
                count += 1
                share = np.exp(logits) / np.exp(logits).sum()
                slope = share - np.eye(n_classes)[codes[n]]
                bent = prior * share / (share + 1e-8)
                slope = slope - beta * (share * bent.sum() - bent)
                total += np.outer(x[n], slope)
            velocity = 0.9 * velocity + total / max(1, count) + 5e-4 * weights
            weights = weights - rate / (1 + beta) * velocity
    return x @ weights


@pytest.mark.parametrize("objective", [Objective(), Objective(beta_max=1.0, sieve_from=0.3)])
def test_training_is_gradient_descent_written_out(objective):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 37).astype(np.int32)
    features = rng.normal(codes[:, None], 1.0, (37, 4)).astype(np.float32)
    recipe = Recipe(n_epochs=10, batch_size=8)
    found = LinearTrainer(recipe).fit(features, codes, 3, objective=objective, seed=5)
    expected = literal_training(features.astype(float), codes, 3, recipe, objective, 5)
    np.testing.assert_allclose(found.logits, expected, atol=2e-4)
    assert len(found.checkpoints) == 4
    assert [each.learning_rate for each in found.checkpoints[2:]] == pytest.approx(
        [0.01 / (1 + objective.beta(epoch, 10)) for epoch in (5, 9)]
    )


def test_training_looks_at_rows_it_did_not_learn():
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(2), 100).astype(np.int32)
    features = rng.normal(8.0 * codes[:, None], 1.0, (200, 3)).astype(np.float32)
    rows = np.flatnonzero(np.arange(200) % 2)
    logits = LinearTrainer(Recipe(n_epochs=5)).fit(features, codes, 2, rows=rows).logits
    np.testing.assert_array_equal(logits.argmax(axis=1), codes)
    only = LinearTrainer(Recipe(n_epochs=5)).fit(features, codes, 2, rows=rows, last_only=True)
    assert len(only.checkpoints) == 1
    np.testing.assert_array_equal(only.logits, logits)
    changed = np.where(np.isin(np.arange(200), rows), codes, 1 - codes)
    again = LinearTrainer(Recipe(n_epochs=5)).fit(features, changed, 2, rows=rows).logits
    np.testing.assert_array_equal(again, logits)  # labels of other rows play no part


class Counting:
    """A trainer that knows each label it was shown and counts its calls."""

    def __init__(self):
        self.rows = []

    def fit(self, inputs, codes, n_classes, *, rows=None, seed=0, **_):
        rows = np.arange(len(codes)) if rows is None else rows
        self.rows.append(rows)
        logits = np.zeros((len(codes), n_classes), np.float32)
        logits[rows, codes[rows]] = 50
        return Training((Checkpoint(0.1, inputs, logits),))


def test_out_of_sample_probabilities_come_from_trainings_without_the_example():
    codes = np.repeat(np.arange(3), [10, 20, 31]).astype(np.int32)
    trainer = Counting()
    found = out_of_sample(trainer, np.zeros((61, 2)), codes, 3, n_folds=5, seed=0)
    np.testing.assert_allclose(found, 1 / 3)  # a label seen in training would show as 1
    held_out = [np.setdiff1d(np.arange(61), rows) for rows in trainer.rows]
    assert sorted(np.concatenate(held_out)) == list(range(61))
    counts = np.array([np.bincount(codes[rows], minlength=3) for rows in held_out])
    assert (np.ptp(counts, axis=0) <= 1).all()
    with pytest.raises(InputError, match="n_folds is 1; give 2 to the number of examples, 61"):
        out_of_sample(trainer, np.zeros((61, 2)), codes, 3, n_folds=1, seed=0)


def test_a_remembering_trainer_trains_the_same_thing_once():
    inner = Counting()
    trainer = Remembering(inner)
    inputs, codes = np.zeros((6, 2), np.float32), np.arange(6, dtype=np.int32) % 2
    first = trainer.fit(inputs, codes, 2, seed=1)
    assert trainer.fit(inputs.copy(), codes.copy(), 2, seed=1) is first
    assert len(inner.rows) == 1
    trainer.fit(inputs, codes, 2, seed=2)
    trainer.fit(inputs, codes, 2, seed=1, rows=np.arange(3))
    trainer.fit(inputs, codes, 2, seed=1, objective=Objective(beta_max=1))
    trainer.fit(inputs + 1, codes, 2, seed=1)
    trainer.fit(inputs, 1 - codes, 2, seed=1)
    assert len(inner.rows) == 6


def test_softmax_bears_large_logits():
    np.testing.assert_allclose(softmax(np.array([[1e4, 0.0]], np.float32)), [[1, 0]])
