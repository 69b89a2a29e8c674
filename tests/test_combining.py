"""Models that work as one: as an ensemble, or as the mean of their weights."""

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from copyfit.checkpoint import Checkpoint, load_weights, open_checkpoint, save_checkpoint
from copyfit.cli.app import run
from copyfit.combining import Member, average, combine, mean_weights
from copyfit.errors import CheckpointError
from copyfit.generation.jobs import Job, SearchOptions
from copyfit.models.ensemble import Ensemble
from copyfit.text.automaton import END
from copyfit.text.tokenizer import SourceSection, SourceTokenizer
from copyfit.text.words import WordList
from copyfit.writing.writer import Writer
from support_models import RandomModel, World, log_probabilities, make_job, make_world
from support_writing import ARTICLE, SECTION, TEXTS, random_weights, save_tiny, tiny_checkpoint


def save(directory: Path, checkpoint: Checkpoint, *, seed: int = 0) -> Path:
    save_checkpoint(directory, checkpoint, random_weights(checkpoint, seed=seed))
    return directory


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("models")
    return [save_tiny(folder / f"seed-{seed}", seed=seed) for seed in range(3)]


def mean_score(models: list[RandomModel], world: World, job: Job, tokens: tuple[int, ...]) -> float:
    """Average the probabilities of each token of a text over the models, one text at a time."""
    answers = [log_probabilities(model, world, job, tokens) for model in models]
    return sum(
        float(np.log(np.mean([float(answer[step][token].exp()) for answer in answers])))
        for step, token in enumerate([*tokens, END])
    )


@pytest.mark.parametrize("members", [2, 3])
def test_an_ensemble_finds_the_texts_of_the_highest_mean_probabilities(members: int) -> None:
    world = make_world(("a", "b", " "))
    models = [world.model(seed) for seed in range(members)]
    job = make_job(2, 4)
    scores = {tokens: mean_score(models, world, job, tokens) for tokens in world.every_text(job)}
    best = sorted(scores, key=lambda tokens: -scores[tokens])
    wide = SearchOptions(num_beams=len(best), keep=len(best))
    (found,) = world.search(Ensemble(models), [job], wide)
    assert [hypothesis.tokens for hypothesis in found] == best
    assert [hypothesis.score for hypothesis in found] == pytest.approx([scores[tokens] for tokens in best])


def test_a_model_twice_writes_what_it_writes_once(folders: list[Path]) -> None:
    alone = Writer(folders[0], device="cpu").candidates(ARTICLE, length=20, count=3)
    twice = Writer([folders[0], folders[0]], device="cpu").candidates(ARTICLE, length=20, count=3)
    assert [headline.text for headline in twice] == [headline.text for headline in alone]
    assert [headline.score for headline in twice] == pytest.approx([headline.score for headline in alone])


def test_models_write_together_in_any_order_and_unlike_each_of_them(folders: list[Path]) -> None:
    together = [
        Writer(order, device="cpu").candidates(ARTICLE, length=20, count=3) for order in permutations(folders)
    ]
    assert len({tuple(headline.text for headline in headlines) for headlines in together}) == 1
    alone = [Writer(folder, device="cpu").candidates(ARTICLE, length=20, count=3) for folder in folders]
    assert together[0] not in alone


def test_architectures_may_differ_in_an_ensemble(folders: list[Path], tmp_path: Path) -> None:
    other = replace(tiny_checkpoint(), model=SECTION.model_copy(update={"width": 8, "positions": "pe"}))
    writer = Writer([folders[0], save(tmp_path / "other", other)], device="cpu")
    assert (writer.models, writer.name) == (2, "tiny+tiny")
    assert len(writer(ARTICLE, length=17)) == 17


def test_an_ensemble_reads_what_all_read_and_knows_the_words_of_each() -> None:
    first, second = tiny_checkpoint(), tiny_checkpoint(longest_source=90)
    second = replace(second, words=WordList(["seal"]), natural_length=30)
    together = combine([Member(Path("a"), first), Member(Path("b"), second)])
    assert (together.longest_source, together.natural_length) == (90, 27)
    assert set(together.words) == {"park", "harbour", "town", "seal"}
    assert combine([Member(Path("a"), first)]) is first


OTHER_SOURCE = SourceTokenizer.train(TEXTS[:4], SourceSection.model_validate({"size": 310}))


@pytest.mark.parametrize(
    ("change", "differing"),
    [
        ({"unit": "byte"}, "unit"),
        ({"source": OTHER_SOURCE}, "source vocabulary"),
        ({"target": tiny_checkpoint("character").target}, "target vocabulary"),
        ({"unit": "byte", "source": OTHER_SOURCE}, "source vocabulary and unit"),
    ],
)
def test_models_that_differ_in_what_they_must_share_are_refused_by_its_name(
    folders: list[Path], tmp_path: Path, change: dict[str, Any], differing: str
) -> None:
    other = save(tmp_path / "other", replace(tiny_checkpoint(), **change))
    for work in (Writer, lambda pair: average(pair, tmp_path / "average")):
        with pytest.raises(CheckpointError, match=rf"the same {differing},[^\n]*other differ"):
            work([folders[0], other])


def test_the_command_refuses_models_that_do_not_belong_together_in_one_line(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = save(tmp_path / "other", tiny_checkpoint(unit="byte"))
    assert run(["write", ARTICLE, "--model", str(folders[0]), "--model", str(other), "--length", "9"]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)


def test_the_command_writes_with_all_models_that_are_named(
    folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [flag for folder in folders for flag in ("--model", str(folder))]
    assert run(["write", ARTICLE, *flags, "--length", "21", "--json", "--device", "cpu"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["model"] == "tiny+tiny+tiny"
    assert answer["headlines"][0]["text"] == Writer(folders, device="cpu")(ARTICLE, length=21)


def test_the_command_writes_a_model_with_the_mean_weights(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "average"
    assert run(["average", *map(str, folders), "--output", str(output)]) == 0
    assert capsys.readouterr().out == ""
    weights, all_weights = load_weights(output), [load_weights(folder) for folder in folders]
    assert set(weights) == set(all_weights[0])
    for name, weight in weights.items():
        exact = np.mean([other[name].astype(np.float64) for other in all_weights], axis=0)
        np.testing.assert_allclose(weight, exact.astype(np.float32), rtol=1e-7)
        assert weight.dtype == np.float32
    checkpoint = open_checkpoint(output)
    assert checkpoint.facts == {"Training pairs": 8, "Note": "made up", "Average of models": 3}
    assert checkpoint.name == "tiny"
    assert len(Writer(output, device="cpu")(ARTICLE, length=20)) == 20


def test_the_order_of_models_does_not_change_their_average(folders: list[Path], tmp_path: Path) -> None:
    files = set()
    for number, order in enumerate(permutations(folders)):
        average(order, tmp_path / str(number))
        files.add((tmp_path / str(number) / "model.safetensors").read_bytes())
    assert len(files) == 1


def test_only_what_holds_of_all_models_is_said_of_their_average(folders: list[Path], tmp_path: Path) -> None:
    other = save(tmp_path / "other", replace(tiny_checkpoint(), facts={"Training pairs": 8, "Note": "else"}))
    average([folders[0], other], tmp_path / "average")
    assert open_checkpoint(tmp_path / "average").facts == {"Training pairs": 8, "Average of models": 2}


def test_an_average_needs_two_models_of_one_shape(folders: list[Path], tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="an average is of two or more models, given 1"):
        average(folders[:1], tmp_path / "average")
    other = replace(tiny_checkpoint(), model=SECTION.model_copy(update={"inner": 40}))
    with pytest.raises(CheckpointError, match="the same model section"):
        average([folders[0], save(tmp_path / "other", other)], tmp_path / "average")
    assert not (tmp_path / "average").exists()


def test_no_model_at_all_is_refused() -> None:
    with pytest.raises(CheckpointError, match="give the folder of one"):
        Writer([])


def test_the_mean_of_models_is_exact_in_any_order_and_keeps_the_type() -> None:
    draw = np.random.default_rng(0)
    models = [
        {"a": draw.normal(size=(3, 4)).astype(np.float32) * 10.0**power, "b": draw.normal(size=2)}
        for power in (-6, 0, 6)
    ]
    means = [mean_weights(order) for order in permutations(models)]
    exact = np.mean([model["a"].astype(np.float64) for model in models], axis=0)
    np.testing.assert_allclose(means[0]["a"], exact, rtol=1e-7)
    assert means[0]["a"].dtype == np.float32
    assert means[0]["b"].dtype == np.float64
    for mean in means:
        np.testing.assert_array_equal(mean["a"], means[0]["a"])
        np.testing.assert_array_equal(mean["b"], means[0]["b"])


def test_the_mean_of_one_model_is_that_model() -> None:
    model = {"a": np.arange(5, dtype=np.float32)}
    np.testing.assert_array_equal(mean_weights([model])["a"], model["a"])


@pytest.mark.parametrize(
    "other", [{"a": np.zeros((2, 3))}, {"b": np.zeros(3)}, {}, {"a": np.zeros(3, np.float32)}]
)
def test_models_that_differ_in_shape_or_type_have_no_mean(other: dict[str, np.ndarray]) -> None:
    with pytest.raises(CheckpointError, match=r"the same weights of the same shapes and types, [ab] differs"):
        mean_weights([{"a": np.zeros(3)}, other])
