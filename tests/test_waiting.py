"""The queue in front of the model: bounded, and fair."""

import threading
from collections import Counter
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from copyfit.server.waiting import FairQueue, Work
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Order

ONE, THREE = Effort(count=1), Effort(count=3)


def works(names: str, effort: Effort = ONE, wanted: Callable[[], bool] = lambda: True) -> list[Work]:
    return [Work(Order(name, Wish(), wanted), effort, lambda _: None, 0.0) for name in names]


def taken(queue: FairQueue, most: int) -> str:
    return "".join(work.order.text for work in queue.take(most))


def test_clients_are_served_in_turn_however_much_each_has_waiting() -> None:
    queue = FairQueue(100)
    assert queue.offer("greedy", works("aaaaaaaa"))
    assert queue.offer("modest", works("b"))
    assert queue.offer("other", works("cc"))
    assert taken(queue, 4) == "abca"
    assert taken(queue, 4) == "caaa"
    assert taken(queue, 100) == "aaa"
    assert len(queue) == 0


def test_only_works_of_one_effort_are_taken_together_and_the_others_come_next() -> None:
    queue = FairQueue(100)
    queue.offer("a", works("aa") + works("A", THREE) + works("a"))
    queue.offer("b", works("BB", THREE))
    assert taken(queue, 10) == "aa"
    assert taken(queue, 10) == "BAB"
    assert taken(queue, 10) == "a"


def test_a_queue_with_nothing_in_it_takes_any_request_and_nothing_more() -> None:
    queue = FairQueue(4)
    assert queue.offer("a", works("abcdefgh"))
    assert not queue.offer("b", works("i"))
    assert taken(queue, 100) == "abcdefgh"
    assert queue.offer("b", works("i"))


@given(st.integers(2, 60), st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 8)), max_size=80))
def test_a_client_may_have_as_many_waiting_as_places_are_free(
    capacity: int, offers: list[tuple[str, int]]
) -> None:
    queue = FairQueue(capacity)
    waiting: Counter[str] = Counter()
    for client, count in offers:
        free = capacity - waiting.total()
        fits = waiting[client] + count <= free or not waiting.total()
        assert queue.offer(client, works(client * count)) == fits
        waiting[client] += count * fits
        assert len(queue) == waiting.total()
    assert Counter("".join(iter(lambda: taken(queue, 7) if len(queue) else "", ""))) == waiting


def test_one_client_cannot_take_the_room_of_all_others() -> None:
    queue = FairQueue(64)
    while queue.offer("greedy", works("a")):
        pass
    assert len(queue) == 32
    for client in "bcdef":
        assert queue.offer(client, works("x"))


def test_what_nobody_wants_any_more_takes_no_room_and_is_not_served() -> None:
    queue, wanted = FairQueue(4), [True]
    queue.offer("a", works("aaaa", wanted=lambda: wanted[0]))
    assert not queue.offer("b", works("b"))
    wanted[0] = False
    assert queue.offer("b", works("b"))
    assert taken(queue, 10) == "b"


def test_whoever_waits_for_works_goes_on_when_some_come_and_when_the_queue_is_closed() -> None:
    queue = FairQueue(4)
    batches: list[str] = []
    thread = threading.Thread(target=lambda: batches.extend(iter(lambda: taken(queue, 4), "")))
    thread.start()
    queue.offer("a", works("ab"))
    queue.close()
    thread.join(30)
    assert batches == ["ab"]
    assert not queue.offer("a", works("a"))
