"""What the product chooses at random is the same in each run of the tests."""

import random

import pytest


@pytest.mark.parametrize("run", [1, 2])
def test_a_test_makes_the_same_random_choices_in_each_run(run: int) -> None:
    assert random.random() == random.Random(1).random()
