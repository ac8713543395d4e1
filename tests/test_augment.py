from __future__ import annotations

import numpy as np
import pytest

from pictures import picture
from simifeat.augment import ImageAugment, TextAugment, noisy_epoch
from simifeat.errors import InputError


def literal_crop(pixels, down, right, border):
    """Pad with black, then cut a window of the old size out."""
    height, width = pixels.shape[:2]
    padded = np.zeros((height + 2 * border, width + 2 * border, 3), np.uint8)
    padded[border : border + height, border : border + width] = pixels
    top, left = border - down, border - right
    return padded[top : top + height, left : left + width]


def test_a_crop_is_a_window_of_the_padded_picture_and_every_window_comes():
    pixels = picture(3, 16)
    windows = {
        literal_crop(pixels, down, right, 2)[:, :: -1 if flip else 1].tobytes(): (down, right, flip)
        for down in range(-2, 3)
        for right in range(-2, 3)
        for flip in (False, True)
    }
    augment = ImageAugment()
    drawn = [windows[augment(pixels, np.random.default_rng(seed)).tobytes()] for seed in range(600)]
    assert set(drawn) == set(windows.values())


def test_a_picture_that_is_changed_stays_as_it_is():
    pixels = picture(3, 16)
    before = pixels.copy()
    ImageAugment(jitter=0.4)(pixels, np.random.default_rng(0))
    np.testing.assert_array_equal(pixels, before)


def test_nothing_is_done_without_settings():
    pixels = picture(3, 16)
    same = ImageAugment(padding=0, flip=False)(pixels, np.random.default_rng(0))
    np.testing.assert_array_equal(same, pixels)


def test_jitter_changes_colours_within_its_factors():
    grey = np.full((8, 8, 3), 100, np.uint8)  # contrast and saturation leave one grey alone
    augment = ImageAugment(padding=0, flip=False, jitter=0.2)
    shades = [augment(grey, np.random.default_rng(seed))[0, 0, 0] for seed in range(200)]
    assert min(shades) >= 80
    assert max(shades) <= 120
    assert max(shades) - min(shades) > 30


def test_text_loses_about_its_share_of_words_and_keeps_their_order():
    text = " ".join(f"w{i}" for i in range(5000))
    left = TextAugment(0.1)(text, np.random.default_rng(0)).split()
    assert 4400 < len(left) < 4600
    numbers = [int(word[1:]) for word in left]
    assert numbers == sorted(numbers)


def test_a_text_never_loses_all_its_words():
    augment = TextAugment(0.9)
    assert all(augment("one two", np.random.default_rng(seed)) for seed in range(50))


def test_noise_of_a_table_follows_its_columns_and_the_epoch():
    rng = np.random.default_rng(0)
    features = (rng.normal(size=(4000, 3)) * [1, 10, 0]).astype(np.float32)
    noisy = noisy_epoch(features, seed=1, epoch=2)
    np.testing.assert_allclose((noisy - features).std(axis=0), [0.1, 1, 0], rtol=0.1, atol=1e-6)
    np.testing.assert_array_equal(noisy, noisy_epoch(features, seed=1, epoch=2))
    assert not np.array_equal(noisy, noisy_epoch(features, seed=1, epoch=3))


def test_settings_are_shares():
    with pytest.raises(InputError, match=r"^jitter is 1; give a share of at least 0 and below 1$"):
        ImageAugment(jitter=1)
