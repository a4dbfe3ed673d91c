import pytest

from formula.recent import Recent


def weight_of_text(text: str) -> int:
    return len(text)


def test_a_value_is_computed_once_while_it_is_kept() -> None:
    recent = Recent[str, str](max_weight=10)
    computed = []

    def compute() -> str:
        computed.append("once")
        return "one"

    for _ in range(3):
        assert recent.get("a", compute, weight_of_text) == "one"

    assert computed == ["once"]


def test_what_was_used_longest_ago_goes_first_when_the_weight_is_too_much() -> None:
    recent = Recent[str, str](max_weight=6)
    for key in ("a", "b", "a", "c"):
        recent.get(key, lambda: "xxx", weight_of_text)

    assert len(recent) == 2
    assert recent.weight == 6
    assert recent.get("a", lambda: "new", weight_of_text) == "xxx"
    assert recent.get("b", lambda: "new", weight_of_text) == "new"


def test_a_value_heavier_than_all_is_given_but_not_kept() -> None:
    recent = Recent[str, str](max_weight=2)

    assert recent.get("a", lambda: "xxx", weight_of_text) == "xxx"
    assert (len(recent), recent.weight) == (0, 0)


def test_a_failure_is_not_kept() -> None:
    recent = Recent[str, str](max_weight=2)
    with pytest.raises(ZeroDivisionError):
        recent.get("a", lambda: str(1 / 0), weight_of_text)

    assert recent.get("a", lambda: "ok", weight_of_text) == "ok"
