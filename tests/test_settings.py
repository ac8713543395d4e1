import pytest

from simifeat.errors import InputError
from simifeat.settings import PRESETS, Settings


def test_a_choice_goes_before_the_preset_and_the_preset_before_the_default():
    chosen = Settings.resolve("official", k=7, center=None)
    assert chosen.k == 7
    assert chosen.center == "within_k"
    assert chosen.metric == "cosine"
    assert Settings.resolve("paper", transition="ml").transition == "ml"


def test_the_paper_is_rank_with_hoc_k_10_and_21_rounds():
    paper = Settings.resolve("paper")
    assert (paper.method, paper.transition, paper.n_neighbors, paper.n_epochs) == (
        "rank", "hoc", 10, 21,
    )  # fmt: skip
    assert (paper.weights, paper.center, paper.cut) == ("uniform", "exclude", "floor")


def test_the_official_code_differs_from_the_paper_where_it_says():
    paper, official = Settings.resolve("paper").to_dict(), Settings.resolve("official").to_dict()
    differ = {name for name in paper if paper[name] != official[name]}
    assert differ == {
        "weights", "center", "center_weight", "sampling", "transition_options", "cut",
        "posterior_jitter", "clip_rates", "max_rows",
    }  # fmt: skip


def test_k_follows_the_method():
    for method, k in (("vote", 10), ("rank", 10), ("propagate", 30)):
        assert Settings.resolve(method=method).n_neighbors == k
    assert Settings.resolve(method="vote", k=3).n_neighbors == 3


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"method": "votes"}, "method is 'votes'; choose one of propagate, vote, rank"),
        ({"metric": "l1"}, "metric is 'l1'; choose one of cosine, euclidean"),
        ({"k": 0}, "k is 0; give a whole number of at least 1"),
        ({"k": 2.5}, "k is 2.5; give a whole number of at least 1"),
        ({"n_epochs": True}, "n_epochs is True; give a whole number of at least 1"),
        ({"voter_share": 0}, "voter_share is 0; give a share above 0, at most 1"),
        ({"posterior_jitter": 1}, "posterior_jitter is 1; give 0 to below 1"),
    ],
)
def test_a_choice_that_does_not_exist(choice, message):
    with pytest.raises(InputError) as caught:
        Settings.resolve(**choice)
    assert str(caught.value) == message


def test_a_preset_that_does_not_exist():
    with pytest.raises(InputError) as caught:
        Settings.resolve("papers")
    assert str(caught.value) == "preset is 'papers'; choose one of paper, official"


def test_presets_name_settings_only():
    for preset in PRESETS:
        Settings.resolve(preset)
