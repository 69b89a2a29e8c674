import pytest

from copyfit.writing.choice import Candidate, choose, likeliest


def candidate(text: str, score: float, *, aim: int = 10, spent: int = 10, whole: bool = True) -> Candidate:
    return Candidate(text, score, spent, aim, whole)


def texts(candidates: list[Candidate], count: int = 9) -> list[str]:
    return [chosen.text for chosen in choose(candidates, count)]


def test_the_likeliest_text_comes_first() -> None:
    assert texts([candidate("b", -2), candidate("a", -1), candidate("c", -3)]) == ["a", "b", "c"]


def test_half_a_word_loses_to_a_whole_one_however_likely() -> None:
    assert texts([candidate("half", -1, whole=False), candidate("whole", -9)]) == ["whole", "half"]


def test_texts_are_distinct_and_the_best_of_equal_ones_is_kept() -> None:
    chosen = choose([candidate("a", -3), candidate("b", -2), candidate("a", -1)], 9)
    assert [(each.text, each.score) for each in chosen] == [("a", -1), ("b", -2)]


def test_no_more_than_the_asked_number_are_chosen() -> None:
    assert texts([candidate("a", -1), candidate("b", -2)], 1) == ["a"]


def test_scores_of_one_aim_compare_as_they_are() -> None:
    assert texts([candidate("long", -12, spent=20), candidate("short", -11, spent=5)]) == ["short", "long"]


def test_scores_of_different_aims_compare_by_unit_of_cost() -> None:
    long, short = candidate("long", -12, aim=20, spent=20), candidate("short", -11, aim=5, spent=5)
    assert texts([short, long]) == ["long", "short"]


def test_equal_candidates_keep_their_order() -> None:
    assert texts([candidate("a", -1), candidate("b", -1), candidate("c", -1)]) == ["a", "b", "c"]


@pytest.mark.parametrize("count", [1, 5])
def test_nothing_comes_of_nothing(count: int) -> None:
    assert choose([], count) == []


def test_a_text_that_costs_nothing_can_be_compared() -> None:
    assert texts([candidate("a", -1, aim=1, spent=0), candidate("b", -2, aim=2, spent=1)]) == ["a", "b"]


def test_left_to_the_model_the_likeliest_wins_even_with_half_a_word() -> None:
    chosen = likeliest([candidate("whole", -9), candidate("half", -1, whole=False), candidate("half", -5)], 9)
    assert [each.text for each in chosen] == ["half", "whole"]
