"""What was read is what was kept and what was dropped, and it adds up."""

from collections.abc import Iterator

from copyfit.data.accounts import REASONS, Account, Screen, table, to_json, total


def test_a_screen_counts_what_it_lets_pass_and_what_not() -> None:
    screen = Screen("numbers")

    def objection(number: int) -> str | None:
        return "empty" if number % 3 == 0 else None

    passing = screen.passing(range(10), objection)
    assert isinstance(passing, Iterator)
    assert list(passing) == [1, 2, 4, 5, 7, 8]
    screen.drop("not_sampled", 2)
    screen.drop("not_sampled", 0)
    account = screen.account()
    assert account == Account("numbers", 10, {"empty": 4, "not_sampled": 2})
    assert (account.kept, account.lost) == (4, 6)


def test_the_total_adds_up_over_parts_and_reasons() -> None:
    parts = [Account("train", 1500, {"overlap": 3, "left_out": 4}), Account("validation", 20, {"overlap": 1})]
    whole = total(parts)
    assert whole == Account("total", 1520, {"left_out": 4, "overlap": 4})
    assert whole.kept == sum(part.kept for part in parts)
    assert to_json([whole]) == {
        "total": {"read": 1520, "kept": 1512, "dropped": {"left_out": 4, "overlap": 4}}
    }
    lines = table([*parts, whole])
    assert lines[0].split() == ["read", "kept", "dropped"]
    assert lines[1].split() == ["train", "1,500", "1,493", "7"]
    assert (
        len({line.index(cell) + len(cell) for line, cell in ((lines[0], "kept"), (lines[1], "1,493"))}) == 1
    )
    assert sum(REASONS["overlap"] in line for line in lines) == 1


def test_nothing_dropped_is_said_by_a_zero() -> None:
    assert table([Account("pairs", 3, {})])[1].split() == ["pairs", "3", "3", "0"]
