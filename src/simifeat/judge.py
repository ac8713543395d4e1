"""One epoch of Algorithm 1 after another on neighbours already found, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simifeat.agreement import agreement_by_rank, unanimous_share
from simifeat.beliefs import Beliefs, beliefs_of_votes
from simifeat.calibrate import MOST_CLASSES, Calibration, calibrate, calibrated
from simifeat.class_means import Rows, UnitRows
from simifeat.dataset import Labels
from simifeat.errors import InputError
from simifeat.mend import mend
from simifeat.neighbors import Neighbors
from simifeat.propagate import propagate
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
from simifeat.threads import in_order
from simifeat.transition import Transition, estimate_from_neighbors
from simifeat.two_views import evidence
from simifeat.verdicts import Verdicts
from simifeat.vote import vote_flags, vote_margin, vote_winner

Flags = NDArray[np.bool_]
Scores = NDArray[np.float32]


class Judge:
    """Judges the labels of a dataset epoch by epoch; the sums over rounds are in ``tally``."""

    def __init__(
        self,
        labels: Labels,
        settings: Settings,
        known_transition: Transition | None,
        seed: np.random.SeedSequence,
        n_threads: int = 1,
    ) -> None:
        labels.check_two_classes()
        self.labels = labels
        self.settings = settings
        self.tally = Tally(len(labels.codes))
        self._n_threads = n_threads
        self._transition = known_transition
        self._is_known = known_transition is not None
        self.revise: Callable[[Beliefs], Beliefs] = lambda beliefs: beliefs
        """Joins the mean belief with what else is known of the true classes, if anything is."""
        self.calibration: Calibration | None = None
        """Of the last epoch; propagation alone is calibrated."""
        self._near: Neighbors | None = None
        sampling, self._ties, self._estimates = seed.spawn(3)
        self._sampling = np.random.default_rng(sampling)

    @property
    def transition(self) -> Transition:
        """The last estimate, or the one given."""
        if self._transition is None:
            raise InputError("features came in 0 epochs; give at least one")
        return self._transition

    @property
    def n_searched(self) -> int:
        """Neighbours an example that the rounds on fixed features need."""
        s, n = self.settings, len(self.labels.codes)
        if self._has_one_round:
            share = 1.0
        elif s.sampling == "voters":
            share = s.voter_share
        else:
            share = balanced_share(n, s.batch_size, s.n_batches)
        return n_searched(max(s.n_neighbors, 2), share, n)

    @property
    def _has_one_round(self) -> bool:
        """Whether rounds on fixed features would all see the same."""
        s = self.settings
        return s.n_epochs == 1 or s.sampling == "none" or s.method == "propagate"

    def rounds(self) -> Iterator[Round]:
        """The rounds of fixed features."""
        s, n = self.settings, len(self.labels.codes)
        if s.method == "propagate":  # nothing in it is random: a second round says the same
            return rounds_of_everybody(1)
        if s.sampling == "balanced":
            return rounds_of_batches(
                self.labels.codes,
                self.labels.n_classes,
                s.n_epochs,
                s.batch_size,
                s.n_batches,
                self._sampling,
            )
        if not self._has_one_round:
            return rounds_of_voters(n, s.n_epochs, s.voter_share, self._sampling)
        return rounds_of_everybody(s.n_epochs)

    def epoch(
        self,
        neighbors: Neighbors,
        rounds: Iterator[Round],
        progress: Callable[[int, int], None] | None = None,
        features: Rows | None = None,
    ) -> None:
        """Judge by one set of features: its ``neighbors``, in one round or several.

        Propagation also looks at ``features`` [n, d] themselves, where they are known.
        The graph may cover the first rows alone (``max_rows``); the others are not judged.
        """
        s = self.settings
        neighbors = _padded(neighbors, len(self.labels.codes))
        self._estimate(neighbors)
        near = self._near = neighbors.first(s.n_neighbors)
        if s.method == "propagate":
            t = self.transition
            codes = self.labels.codes
            heard = propagate(codes, near, t.matrix, t.prior)
            said = evidence(heard, self._seen_by_means(features), len(t.prior))
            self.calibration = calibrate(said, codes, t.matrix, self._is_known)
            beliefs = calibrated(said, codes, self.calibration)
            self.tally.add(None, *_doubt(beliefs, codes))
            self.tally.add_beliefs(beliefs)
            return
        tasks = self._tasks(neighbors, rounds)
        results = in_order(lambda task: self._round(neighbors, *task), tasks, self._n_threads)
        for number, result in enumerate(results):
            self.tally.add(*result)
            if progress is not None:
                progress(number + 1, max(number + 1, s.n_epochs))
        everybody = self._soft_labels(None, near.index, near.similarity)
        self.tally.add_beliefs(beliefs_of_votes(everybody, self.labels.codes, self.transition))

    def verdicts(self, ids: NDArray[Any], metadata: Mapping[str, Any]) -> Verdicts:
        """What all epochs add up to."""
        codes, tally, near = self.labels.codes, self.tally, self._near
        if near is None:
            raise InputError("features came in 0 epochs; give at least one")
        beliefs, flags = self.revise(tally.beliefs), tally.is_corrupted
        if self.settings.method == "propagate":  # the mean belief decides, not a vote of epochs
            flags = _doubt(beliefs, codes)[0]
            self._learn(beliefs, near)
        other = beliefs.best_other(codes)
        suggested = np.where(flags & (other >= 0), other, codes)  # [n]
        about: dict[str, Any] = {
            "n_rounds": tally.n_rounds,
            "agreement": agreement_by_rank(codes, near.index).tolist(),
            "clusterability": unanimous_share(suggested, near.index).tolist(),
        }
        if self.calibration is not None:
            about["calibration"] = {
                "sharpness": self.calibration.sharpness,
                "pull": self.calibration.pull,
            }
        return Verdicts(
            ids=ids,
            labels=self.labels.given,
            is_corrupted=flags,
            score=tally.score,
            p_corrupted=np.clip(1 - beliefs.of(codes), 0, 1),
            flag_rate=tally.flag_rate,
            suggested=self.labels.classes[suggested],
            classes=self.labels.classes,
            transition=self.transition,
            metadata={**metadata, **about},
            extra={"p_suggested": beliefs.of(suggested.astype(np.int32))},
            neighbors=near,
            beliefs=beliefs,
        )

    def _seen_by_means(self, features: Rows | None) -> Rows | None:
        """The features as the second view of propagation sees them, if it is to see them."""
        s = self.settings
        if features is None or s.views == "neighbors" or s.max_rows:
            return None
        return UnitRows(features) if s.metric == "cosine" else features

    def _learn(self, beliefs: Beliefs, near: Neighbors) -> None:
        """T and p of what is believed in the end, without foreign neighbours, with intervals."""
        t = self.transition
        if not self._is_known and t.n_classes <= MOST_CLASSES:
            matrix, prior = beliefs.counts(self.labels.codes, t.matrix)
            counted = replace(t, matrix=matrix, prior=prior)
            self._transition = mend(self.labels.codes, near, counted, beliefs)

    def _estimate(self, neighbors: Neighbors) -> None:
        """T and p anew, starting from the estimate of the epoch before."""
        if self._is_known:
            return
        self._transition = estimate_from_neighbors(
            self.labels.codes,
            neighbors.index,
            self.labels.n_classes,
            self.settings.transition,
            classes=self.labels.classes,
            options=self.settings.transition_options,
            warm_start=self._transition,
            seed=self._estimates.spawn(1)[0],
        )

    def _soft_labels(
        self,
        rows: NDArray[np.int64] | None,
        index: NDArray[np.int32],
        similarity: NDArray[np.float32],
    ) -> SoftLabels:
        s = self.settings
        return soft_labels(
            self.labels.codes,
            index,
            similarity,
            rows=rows,
            weights=s.weights,
            center=s.center,
            center_weight=s.center_weight,
        )

    def _tasks(
        self, neighbors: Neighbors, rounds: Iterator[Round]
    ) -> Iterator[tuple[Round, Transition, np.random.Generator]]:
        """What each round needs; a sampled estimate is drawn anew for every one."""
        for number, each in enumerate(rounds):
            if number and "sample_size" in self.settings.transition_options:
                self._estimate(neighbors)
            yield each, self.transition, np.random.default_rng(self._ties.spawn(1)[0])

    def _round(
        self,
        neighbors: Neighbors,
        each: Round,
        transition: Transition,
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.int64] | None, Flags, Scores]:
        """The rows judged (None: all), their flags and scores."""
        s = self.settings
        index, similarity = nearest_voters(
            neighbors.index, neighbors.similarity, s.n_neighbors, each
        )
        rows = each.judged
        heard = index[:, 0] >= 0  # without a neighbour that votes there is nothing to judge by
        if not heard.all():
            rows = np.flatnonzero(heard) if rows is None else rows[heard]
            index, similarity = index[heard], similarity[heard]
        codes = self.labels.codes if rows is None else self.labels.codes[rows]
        soft = self._soft_labels(rows, index, similarity)
        if s.method == "vote":
            return rows, vote_flags(vote_winner(soft, rng), codes), vote_margin(soft, codes)
        rates = corruption_rates(
            transition.posterior, clip=s.clip_rates, jitter=s.posterior_jitter, rng=rng
        )
        score = cosine_score(soft, codes)
        return rows, rank_flags(score, codes, rates, rng, s.cut), score


def _doubt(beliefs: Beliefs, labels: NDArray[np.int32]) -> tuple[Flags, Scores]:
    """Flags where the label is more probably wrong than right, and P(it is right), [n] each."""
    right = beliefs.of(labels)
    return right < np.float32(0.5), right


def _padded(neighbors: Neighbors, n_examples: int) -> Neighbors:
    """The graph with rows without neighbours up to ``n_examples``."""
    missing = n_examples - neighbors.n_examples
    if not missing:
        return neighbors
    return replace(
        neighbors,
        index=np.pad(neighbors.index, ((0, missing), (0, 0)), constant_values=-1),
        similarity=np.pad(neighbors.similarity, ((0, missing), (0, 0))),
    )
