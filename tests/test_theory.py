"""The paper's bounds against literal sums, numerical integration and simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import betaln, gammaln
from scipy.stats import beta

from oracles import brute_neighbors
from simifeat import theory
from simifeat.errors import InputError
from simifeat.neighbors import find_neighbors
from simifeat.rank_bound import beta_difference_cdf, beta_difference_pdf

# Definition 1


def literal_share(index, clean, k):
    """1 - delta_k as a loop."""
    pure = [all(clean[j] == clean[i] for j in index[i][:k]) for i in range(len(clean))]
    return sum(pure) / len(clean)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(3, 40), st.integers(1, 6))
def test_clusterability_is_the_share_of_pure_neighbourhoods(seed, n, k):
    rng = np.random.default_rng(seed)
    features, clean = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    k = min(k, n - 1)
    index = brute_neighbors(features, k)[0]
    assert theory.clusterability(features, clean, k) == pytest.approx(
        literal_share(index, clean, k)
    )
    graph = find_neighbors(features, k)
    curve = theory.clusterability_curve(graph, clean)
    assert curve.tolist() == pytest.approx(
        [literal_share(index, clean, r) for r in range(1, k + 1)]
    )
    assert (np.diff(curve) <= 0).all()


# Proposition 1


def literal_majority(k, e):
    """P(at most k' of k + 1 labels are wrong), the sum in the paper's proof."""
    most = math.ceil((k + 1) / 2) - 1
    return sum(math.comb(k + 1, m) * e**m * (1 - e) ** (k + 1 - m) for m in range(most + 1))


@given(st.integers(1, 60), st.floats(0, 1), st.floats(0, 1))
def test_vote_bound_is_the_sum_of_the_proof(k, e, delta):
    expected = (1 - delta) * literal_majority(k, e)
    assert theory.vote_lower_bound(k, e, delta) == pytest.approx(expected, abs=1e-12)


def test_vote_bound_element_by_element():
    table = theory.vote_lower_bound([[1], [4]], [0.1, 0.2, 0.3], 0.25)
    assert table.shape == (2, 3)
    assert table[1, 2] == theory.vote_lower_bound(4, 0.3, 0.25)


@pytest.mark.parametrize(("k", "e", "n_classes"), [(3, 0.3, 3), (4, 0.6, 4), (5, 0.5, 3)])
def test_vote_bound_with_more_classes_is_a_sum_over_all_labels(k, e, n_classes):
    total = 0.0
    for labels in itertools.product(range(n_classes), repeat=k + 1):
        counts = [labels.count(c) for c in range(n_classes)]
        if counts[0] > max(counts[1:]):
            total += (1 - e) ** counts[0] * (e / (n_classes - 1)) ** (k + 1 - counts[0])
    assert theory.vote_lower_bound(k, e, 0.0, n_classes=n_classes) == pytest.approx(total)


def test_the_bound_holds_under_noise_that_depends_on_the_example():
    """Neighbourhoods pure but for delta; every label flips at its own rate of at most e."""
    rng, n, k, e, delta = np.random.default_rng(0), 40_000, 10, 0.35, 0.15
    true = rng.integers(0, 2, n)
    pure = rng.random(n) >= delta
    neighbours = np.where(pure[:, None], true[:, None], 1 - true[:, None])  # the worst there is
    members = np.concatenate([true[:, None], np.broadcast_to(neighbours, (n, k))], axis=1)
    wrong = rng.random((n, k + 1)) < e * rng.random((n, k + 1)) ** 0.2
    votes = (members ^ wrong).sum(axis=1)
    correct = np.where(true == 1, votes, k + 1 - votes) > (k + 1) / 2
    assert correct.mean() >= theory.vote_lower_bound(k, e, delta)


def test_remark_1_s_example():
    """1.52 and .47 for k of 5 and 20, e = .4, as printed."""
    ratio = theory.vote_lower_bound(20, 0.4, 0) / theory.vote_lower_bound(5, 0.4, 0)
    assert round(ratio, 2) == 1.52
    assert round(1 - (1 - 0.2) / ratio, 2) == 0.47


def test_recommend_k_takes_the_highest_bound():
    shares, ks = [0.8, 0.6, 0.5], [5, 10, 20]
    found = theory.recommend_k(shares, 0.4, ks=ks)
    bounds = [s * literal_majority(k, 0.4) for s, k in zip(shares, ks, strict=True)]
    assert found.bounds.tolist() == pytest.approx(bounds)
    assert found.k == ks[int(np.argmax(bounds))]
    assert theory.recommend_k([1.0, 1.0], 0.0).k == 1  # of equals the smallest


def test_recommend_k_follows_the_noise():
    shares = 0.97 ** np.arange(1, 41)
    chosen = [theory.recommend_k(shares, e, n_classes=10).k for e in (0.05, 0.3, 0.6)]
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[-1]


# Theorem 2

CASES = [(3, 5, 1), (5, 4, 2), (10, 20, 4), (2, 3, 0)]
POINTS = [-0.6, -0.2, -0.01, 0.01, 0.2, 0.6]


def numerical_density(t, n_corrupted, n_clean, alpha):
    """Density of b1 - b2 at t by integrating over b2."""
    b1, b2 = beta(n_corrupted, 1), beta(alpha + 1, n_clean - alpha)
    return quad(lambda y: b1.pdf(y + t) * b2.pdf(y), max(0, -t), min(1, 1 - t))[0]


def appell_f1(a, b1, b2, c, x, y):
    """Appell's F1 by the integral that the paper defines it with."""

    def integrand(t):
        return t ** (a - 1) * (1 - t) ** (c - a - 1) * (1 - x * t) ** -b1 * (1 - y * t) ** -b2

    return math.exp(gammaln(c) - gammaln(a) - gammaln(c - a)) * quad(integrand, 0, 1, limit=200)[0]


def printed_density(p, n_corrupted, n_clean, alpha):
    """f(p) as the paper's proof prints it (N-- read as N-)."""
    m, n, total = n_corrupted, n_clean - alpha, n_corrupted + n_clean
    scale = math.exp(betaln(m, 1) + betaln(alpha + 1, n))
    if p == 0:
        return math.exp(betaln(m + alpha, n)) / scale
    if p > 0:
        f = appell_f1(1, total, 1 - m, alpha + 2, 1 - p, 1 - p**2)
        return math.exp(betaln(n, 1)) * p**n * (1 - p) ** (alpha + 1) * f / scale
    f = appell_f1(n, -alpha, total, total - alpha, 1 - p**2, 1 + p)
    return math.exp(betaln(m, n)) * (-p) ** n * (1 + p) ** (total - alpha - 1) * f / scale


@pytest.mark.parametrize("case", CASES)
def test_density_is_the_one_by_numerical_integration(case):
    for t in POINTS:
        assert beta_difference_pdf(t, *case) == pytest.approx(numerical_density(t, *case), rel=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_printed_density_is_right_below_zero_and_wrong_above(case):
    """Above 0 it has B(N+ - alpha, 1) where B(alpha + 1, 1) belongs; docs/theory.md says so."""
    _, n_clean, alpha = case
    wrong = (alpha + 1) / (n_clean - alpha)
    assert printed_density(0, *case) == pytest.approx(beta_difference_pdf(1e-12, *case), rel=1e-6)
    for t in POINTS:
        factor = wrong if t > 0 else 1.0
        assert printed_density(t, *case) == pytest.approx(
            factor * numerical_density(t, *case), rel=1e-6
        )


@pytest.mark.parametrize("case", CASES)
def test_probability_is_the_integral_of_the_density(case):
    for t in POINTS:
        area = quad(lambda x: beta_difference_pdf(x, *case), -1, t, points=[0] if t > 0 else None)
        assert beta_difference_cdf(t, *case) == pytest.approx(area[0], abs=1e-7)
    assert beta_difference_cdf(-1, *case) == 0
    assert beta_difference_cdf(1, *case) == 1


@pytest.mark.parametrize(("n_corrupted", "n_clean", "alpha"), [(40, 200, 20), (300, 500, 2)])
def test_probability_is_that_of_simulated_order_statistics(n_corrupted, n_clean, alpha):
    rng = np.random.default_rng(0)
    largest = rng.random((20_000, n_corrupted)).max(axis=1)
    lowest = np.partition(rng.random((20_000, n_clean)), alpha, axis=1)[:, alpha]
    for t in np.quantile(largest - lowest, [0.1, 0.5, 0.9]):
        share = (largest - lowest < t).mean()
        assert beta_difference_cdf(t, n_corrupted, n_clean, alpha) == pytest.approx(share, abs=0.01)


def test_a_million_examples():
    case = (400_000, 600_000, 6000)
    middle = 1 - 6001 / 600_001  # b1 is nearly 1
    assert beta_difference_cdf(middle - 0.001, *case) < 1e-6
    assert beta_difference_cdf(middle + 0.001, *case) > 1 - 1e-6
    assert 0.4 < beta_difference_cdf(middle, *case) < 0.6


@pytest.mark.parametrize(("delta", "alpha"), [(0.15, 30), (0.2, 50), (0.25, 75)])
def test_the_limit_needs_dividing_by_delta(delta, alpha):
    """The proof's uniform scores of width delta, simulated; the printed limit forgets the width."""
    rng, n_corrupted, n_clean, mu_true, mu_false = np.random.default_rng(1), 50, 100, 0.8, 0.5
    false = mu_false + delta * rng.random((20_000, n_corrupted)).max(axis=1)
    true = mu_true - delta + delta * np.partition(rng.random((20_000, n_clean)), alpha)[:, alpha]
    share = (false < true).mean()
    asked = (n_corrupted, n_clean, mu_true, mu_false, delta, 3.0, alpha)
    rescaled = theory.rank_f1_lower_bound(*asked, rescale=True)
    assert rescaled.probability == pytest.approx(share, abs=0.012)
    assert abs(theory.rank_f1_lower_bound(*asked).probability - share) > 0.05


def test_f1_bound_is_the_printed_one():
    found = theory.rank_f1_lower_bound(100, 300, 0.9, 0.3, 0.2, 4.0, 5)
    assert found.f1 == pytest.approx(1 - (math.exp(-4.0) * 300 + 5) / 100)


# What is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: theory.vote_lower_bound(0, 0.1, 0.1),
            "k must be whole numbers of at least 1, got 0",
        ),
        (lambda: theory.vote_lower_bound(2, 1.5, 0.1), "noise_rate must lie in [0, 1], got 1.5"),
        (lambda: theory.vote_lower_bound(2, 0.1, -1), "delta_k must lie in [0, 1], got -1"),
        (
            lambda: theory.vote_lower_bound(2, 0.1, 0.1, n_classes=1),
            "n_classes must be at least 2, got 1",
        ),
        (
            lambda: theory.recommend_k([0.5, 2.0], 0.1),
            "clusterability must be a list of shares in [0, 1], one for every k; "
            "clusterability_curve gives one",
        ),
        (
            lambda: theory.recommend_k([0.9], 0.1, ks=[1, 2]),
            "there are 2 ks but 1 values of clusterability; give one for every k",
        ),
        (
            lambda: theory.recommend_k([0.9], 0.6),
            "no k helps at noise rate 0.6 with n_classes=2: wrong labels are as frequent as right "
            "ones from 0.5 on; if the noise is spread over more classes, give their number as "
            "n_classes",
        ),
        (
            lambda: theory.clusterability_curve(find_neighbors(np.eye(4), 2), [0, 1, 0]),
            "the graph has 4 rows but there are 3 clean labels; give one for every example",
        ),
        (
            lambda: theory.clusterability_curve(find_neighbors(np.eye(4), 2), [0, 1, 0, 1], [3]),
            "k must lie between 1 and 2, the width of the graph, got [3]; "
            "search more neighbours for a larger k",
        ),
        (
            lambda: theory.rank_f1_lower_bound(0, 5, 0.9, 0.1, 0.2, 1, 1),
            "n_corrupted must be a whole number of at least 1, got 0",
        ),
        (
            lambda: theory.rank_f1_lower_bound(5, 5, 0.9, 0.1, 0.2, 1, 5),
            "alpha must be below n_clean, got alpha 5 and n_clean 5: "
            "there is no (alpha + 1)-th lowest clean score",
        ),
        (
            lambda: theory.rank_f1_lower_bound(5, 5, math.nan, 0.1, 0.2, 1, 1),
            "mu_true must be a finite number, got nan",
        ),
        (
            lambda: theory.rank_f1_lower_bound(5, 5, 0.9, 0.1, 0, 1, 1),
            "delta must be a positive number, got 0",
        ),
        (
            lambda: theory.rank_f1_lower_bound(5, 5, 0.9, 0.1, 0.2, -1, 1),
            "v must be at least 0, got -1",
        ),
    ],
)
def test_errors_say_what_and_what_to_do(call, message):
    with pytest.raises(InputError) as error:
        call()
    assert str(error.value) == message
