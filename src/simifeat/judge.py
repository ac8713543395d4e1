"""One epoch of Algorithm 1 after another on neighbours already found, and what they add up to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simifeat.dataset import Labels
from simifeat.neighbors import Neighbors
from simifeat.rank import corruption_rates, cosine_score, rank_flags
from simifeat.rounds import (
    Round,
    balanced_share,
    n_searched,
    nearest_voters,
    rounds_of_batches,
    rounds_of_everybody,
    rounds_of_voters,
)
from simifeat.settings import Settings
from simifeat.soft_labels import SoftLabels, soft_labels
from simifeat.tally import Tally
from simifeat.transition import Transition, estimate_from_neighbors
from simifeat.vote import vote_flags, vote_margin, vote_winner


class Judge:
    """Judges the labels of a dataset epoch by epoch; the sums over rounds are in ``tally``."""

    def __init__(
        self,
        labels: Labels,
        settings: Settings,
        known_transition: Transition | None,
        seed: np.random.SeedSequence,
    ) -> None:
        self.labels = labels
        self.settings = settings
        self.tally = Tally(len(labels.codes))
        self.transition = known_transition
        """The last estimate, or the one given."""
        self._is_known = known_transition is not None
        sampling, self._ties, self._estimates = seed.spawn(3)
        self._sampling = np.random.default_rng(sampling)

    @property
    def n_searched(self) -> int:
        """Neighbours an example that an epoch on fixed features needs."""
        s, n = self.settings, len(self.labels.codes)
        if s.n_epochs == 1 or s.sampling == "none":
            share = 1.0
        elif s.sampling == "voters":
            share = s.voter_share
        else:
            share = balanced_share(n, s.batch_size, s.n_batches)
        return n_searched(max(s.n_neighbors, 2), share, n)

    def rounds(self) -> Iterator[Round]:
        """The rounds of fixed features."""
        s, n = self.settings, len(self.labels.codes)
        if s.sampling == "balanced":
            return rounds_of_batches(
                self.labels.codes,
                self.labels.n_classes,
                s.n_epochs,
                s.batch_size,
                s.n_batches,
                self._sampling,
            )
        if s.sampling == "voters" and s.n_epochs > 1:
            return rounds_of_voters(n, s.n_epochs, s.voter_share, self._sampling)
        return rounds_of_everybody(s.n_epochs)

    def epoch(self, neighbors: Neighbors, rounds: Iterator[Round]) -> None:
        """Judge by one set of features: its ``neighbors``, in one round or several."""
        self._estimate(neighbors)
        for number, each in enumerate(rounds):
            if number and self._draws_samples:
                self._estimate(neighbors)
            self._round(neighbors, each)

    @property
    def _draws_samples(self) -> bool:
        return "sample_size" in self.settings.transition_options

    def _estimate(self, neighbors: Neighbors) -> None:
        """T and p anew, starting from the estimate of the epoch before."""
        if self._is_known:
            return
        self.transition = estimate_from_neighbors(
            self.labels.codes,
            neighbors.index,
            self.labels.n_classes,
            self.settings.transition,
            classes=self.labels.classes,
            options=self.settings.transition_options,
            warm_start=self.transition,
            seed=self._estimates.spawn(1)[0],
        )

    def _round(self, neighbors: Neighbors, each: Round) -> None:
        s = self.settings
        codes = self.labels.codes if each.judged is None else self.labels.codes[each.judged]
        index, similarity = nearest_voters(
            neighbors.index, neighbors.similarity, s.n_neighbors, each
        )
        soft = soft_labels(
            self.labels.codes,
            index,
            similarity,
            rows=each.judged,
            weights=s.weights,
            center=s.center,
            center_weight=s.center_weight,
        )
        rng = np.random.default_rng(self._ties.spawn(1)[0])
        decide = self._vote if s.method == "vote" else self._rank
        self.tally.add(each.judged, *decide(soft, codes, rng))

    def _vote(
        self, soft: SoftLabels, codes: NDArray[np.int32], rng: np.random.Generator
    ) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        return vote_flags(vote_winner(soft, rng), codes), vote_margin(soft, codes)

    def _rank(
        self, soft: SoftLabels, codes: NDArray[np.int32], rng: np.random.Generator
    ) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        s = self.settings
        rates = corruption_rates(
            self.transition.posterior, clip=s.clip_rates, jitter=s.posterior_jitter, rng=rng
        )
        score = cosine_score(soft, codes)
        return rank_flags(score, codes, rates, rng, s.cut), score
