import itertools
from dataclasses import replace

import pytest
import torch

from copyfit.generation.jobs import Hypothesis, Job, SearchOptions
from copyfit.text.units import count
from support_models import World, make_job, make_world, teacher_forced

torch.set_num_threads(1)


def every_text(world: World, job: Job) -> list[tuple[int, ...]]:
    """Write every token sequence whose text keeps the bounds, by trying them all."""
    found = []
    tokens = range(3, world.size)
    for length in range(1, job.max_steps + 1):
        for sequence in itertools.product(tokens, repeat=length):
            text = world.text(sequence)
            if (
                text == text.strip()
                and "  " not in text
                and job.floor <= count(text, world.unit) <= job.limit
            ):
                found.append(sequence)
    return found


@pytest.mark.parametrize(
    ("unit", "pieces", "floor", "limit"),
    [
        ("char", "ab .", 4, 4),
        ("char", "ab .", 1, 4),
        ("char", "ab .", 2, 3),
        ("byte", "aé 漢", 5, 5),
        ("byte", "aé 漢", 4, 6),
        ("cell", "a 漢字", 5, 6),
        ("cell", "漢字", 1, 6),
        ("x", "a漢😀", 3, 4),
    ],
)
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_full_width_beam_finds_all_texts_in_the_order_of_their_probabilities(
    unit: str, pieces: str, floor: int, limit: int, penalty: float
) -> None:
    world = make_world(tuple(pieces), unit)
    job = replace(make_job(floor, limit), max_steps=5)
    model = world.model(seed=limit)
    expected = sorted(
        (
            Hypothesis(tokens, teacher_forced(model, world, job, tokens), count(world.text(tokens), unit))
            for tokens in every_text(world, job)
        ),
        key=lambda text: -text.score / text.spent**penalty,
    )
    options = SearchOptions(num_beams=800, keep=len(expected) + 3, length_penalty=penalty)
    (found,) = world.search(model, [job], options)
    assert [text.tokens for text in found] == [text.tokens for text in expected]
    assert [text.spent for text in found] == [text.spent for text in expected]
    assert [text.score for text in found] == pytest.approx([text.score for text in expected], abs=1e-9)
