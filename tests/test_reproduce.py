"""A whole study by one command: what is recorded is not done again, what was stopped goes on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from copyfit.cli.app import run
from copyfit.experiments.records import open_records
from copyfit.models.config import ARCHITECTURES, Architecture, ModelSection
from copyfit.models.contract import Batch, Cache, Growth, Model, Started
from copyfit.training.run import CHECKPOINTS
from support_studies import SMALL, small_matrix

Output = pytest.CaptureFixture[str]
ON_CPU = ("--device", "cpu", "--jobs", "1")


class Done(NamedTuple):
    """Be a small study that was carried out in this process."""

    matrix: str
    output: Path


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    home = tmp_path_factory.mktemp("study")
    study = Done(str(small_matrix(home)), home / "out")
    assert run(["reproduce", study.matrix, "--output", str(study.output), *ON_CPU]) == 0
    return study


def files_in(folder: Path) -> dict[str, float]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.mark.long
def test_a_study_leaves_a_record_of_every_training_and_test(done: Done) -> None:
    records = open_records(done.output / "records")
    assert sorted((r.system, r.seed) for r in records.trainings) == [
        ("Transformer", 1),
        ("Transformer+LDPE", 1),
        ("Transformer+LDPE", 2),
    ]
    assert sorted((r.system, r.seeds, r.test["name"]) for r in records.tests) == [
        ("Transformer", (1,), "groups"),
        ("Transformer", (1,), "references"),
        ("Transformer+LDPE", (1,), "groups"),
        ("Transformer+LDPE", (1,), "references"),
        ("Transformer+LDPE", (2,), "groups"),
        ("Transformer+LDPE", (2,), "references"),
        ("Transformer+LDPE+Ensemble (2 models)", (1, 2), "groups"),
        ("Transformer+LDPE+Re-ranking", (1,), "groups"),
    ]
    ensemble = next(r for r in records.tests if len(r.seeds) == 2)
    assert "|models:2|" in ensemble.cells["30"].signatures["whole"]
    reranked = next(r for r in records.tests if r.rerank)
    assert "|rerank:occurrences of 20|" in reranked.cells["30"].signatures["cut"]
    for record in records.tests:
        assert all(cell.n == sum(cell.differences.values()) == 5 for cell in record.cells.values())
        assert record.recipe["training"]["steps"] == 12  # type: ignore[index,call-overload]
        assert record.recipe["data"]["train"] == ["train.tsv"]  # type: ignore[index,call-overload]
        assert record.made.hardware["device"] == "cpu"
        assert {"python", "torch", "numpy"} <= set(record.made.versions)
    assert all(record.steps == 12 and record.seconds > 0 for record in records.trainings)


@pytest.mark.long
def test_trainings_share_prepared_data_and_keep_only_what_writes(done: Done) -> None:
    assert len(list((done.output / "data").iterdir())) == 1
    trainings = list((done.output / "trainings").iterdir())
    assert len(trainings) == 3
    for training in trainings:
        assert not (training / CHECKPOINTS).exists()
        assert (training / "best" / "model.safetensors").exists()


@pytest.mark.long
def test_a_study_ends_with_its_tables_and_figures(done: Done, capsys: Output) -> None:
    assert {path.name for path in (done.output / "tables").iterdir()} == {
        *("groups.md", "groups.tex", "variance.md", "variance.tex", "details.md"),
        *("differences.png", "differences.svg", "by-length.png", "by-length.svg"),
    }
    written = done.output / "elsewhere"
    flags = ["--records", str(done.output / "records"), "--output", str(written)]
    assert run(["tables", done.matrix, *flags]) == 0
    for path in written.iterdir():
        assert path.read_bytes() == (done.output / "tables" / path.name).read_bytes()
    assert "| +Ensemble (2 models) | " in capsys.readouterr().out


@pytest.mark.long
def test_a_study_that_is_recorded_is_not_done_again(done: Done, capsys: Output) -> None:
    before = files_in(done.output / "records") | files_in(done.output / "trainings")
    assert run(["reproduce", done.matrix, "--output", str(done.output), *ON_CPU]) == 0
    assert files_in(done.output / "records") | files_in(done.output / "trainings") == before
    told = capsys.readouterr().err
    assert "Transformer+LDPE, seed 2: recorded" in told
    assert "Transformer+LDPE for nothing, seed 2: no test of its is there" in told
    assert "test missing will be absent: there is no" in told
    assert " ..." not in told


@pytest.mark.long
def test_records_alone_are_enough_wherever_the_data_lies(done: Done, tmp_path: Path, capsys: Output) -> None:
    (examples,) = done.output.glob("examples-*")
    moved = tmp_path / "moved"
    moved.mkdir()
    for path in examples.iterdir():
        (moved / path.name).write_bytes(path.read_bytes())
    flags = [
        "--records",
        str(done.output / "records"),
        "--data",
        str(moved),
        "--output",
        str(tmp_path / "new"),
    ]
    assert run(["reproduce", done.matrix, *flags, *ON_CPU]) == 0
    assert not (tmp_path / "new" / "trainings").exists()
    # Another test file is another test: its records are made anew, and what lacks weights is trained for it.
    (moved / "test.tsv").write_text((moved / "validation.tsv").read_text("utf-8"), encoding="utf-8")
    only = ["--only", "Transformer", "--records", str(tmp_path / "records")]
    assert run(["reproduce", done.matrix, *flags, *only, *ON_CPU]) == 0
    assert [record.system for record in open_records(tmp_path / "records").tests] == ["Transformer"] * 2
    told = capsys.readouterr().err
    assert "train Transformer, seed 1: 12 steps" in told
    assert "are not used" not in told
    # Those of the earlier file may lie beside.
    for path in (done.output / "records").iterdir():
        (tmp_path / "records" / path.name).write_bytes(path.read_bytes())
    assert run(["reproduce", done.matrix, *flags, *only, *ON_CPU]) == 0
    assert "8 records belong to other recipes, tests or files and are not used" in capsys.readouterr().err


@pytest.mark.long
def test_one_run_can_be_done_by_itself(done: Done, tmp_path: Path) -> None:
    flags = ["--output", str(tmp_path / "one"), "--only", "Transformer+LDPE", "--seed", "2", *ON_CPU]
    assert run(["reproduce", done.matrix, *flags]) == 0
    records = open_records(tmp_path / "one" / "records")
    assert [(record.system, record.seed) for record in records.trainings] == [("Transformer+LDPE", 2)]
    whole = open_records(done.output / "records")
    # The very same run as the one of the whole study, but for when and how fast it was.
    for record in records.tests:
        twin = next(each for each in whole.tests if each.identity() == record.identity())
        assert {n: c.rouge for n, c in record.cells.items()} == {n: c.rouge for n, c in twin.cells.items()}


@pytest.mark.long
def test_a_run_that_fails_is_told_and_the_others_go_on(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "failing.toml"
    wrong = SMALL.replace('"model.positions=pe"', '"model.positions=pe", "training.tracking=[\\"none\\"]"')
    path.write_text(wrong, encoding="utf-8")
    flags = ["--output", str(tmp_path / "out"), "--seed", "1", *ON_CPU]
    assert run(["reproduce", str(path), *flags]) == 2
    told = capsys.readouterr().err
    assert "train Transformer, seed 1: training.tracking must name trackers that are installed" in told
    assert "error: 2 of 5 tasks failed" in told
    records = open_records(tmp_path / "out" / "records")
    assert {record.system for record in records.tests} == {"Transformer+LDPE", "Transformer+LDPE+Re-ranking"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["no-such"], "a matrix must be a TOML file or one of"),
        (["news-en"], "news-en needs --data DIR, a folder that has train, train-*, valid"),
        (["tiny", "--data", "/nowhere"], "the folder of the data must be there, /nowhere is not"),
        (["SMALL", "--data", "EMPTY"], "must have train (tsv, csv, jsonl, parquet"),
        (["SMALL", "--only", "LRPE"], "a system must be one of Transformer, Transformer+LDPE"),
        (["SMALL", "--seed", "3"], "a seed must be one of 1, 2, given '3'"),
        (["SMALL", "--set", "model.widht=3"], "unknown key"),
        (["SMALL", "--device", "tpu"], "the device to train on must be cpu, cuda or cuda:N, given 'tpu'"),
        (["SMALL", "--records", "/proc/nowhere"], "cannot write to /proc"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    tmp_path: Path, capsys: Output, flags: list[str], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    known = {"SMALL": str(small_matrix(tmp_path)), "EMPTY": str(tmp_path / "empty")}
    given = [known.get(flag, flag) for flag in flags]
    assert run(["reproduce", *given, "--output", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert message in told[0]


def test_tables_without_records_are_a_mistake(tmp_path: Path, capsys: Output) -> None:
    assert run(["tables", str(small_matrix(tmp_path)), "--records", str(tmp_path / "none")]) == 2
    assert "the folder of records must be there" in capsys.readouterr().err


@contextmanager
def started(*flags: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the program in a process group of its own."""
    command = [sys.executable, "-m", "copyfit", "reproduce", *flags, "--device", "cpu"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_a_save(output: Path, process: "subprocess.Popen[bytes]") -> None:
    while not list(output.glob(f"trainings/*/{CHECKPOINTS}/step-*")):
        assert process.poll() is None, process.communicate()
        os.sched_yield()


@pytest.mark.long
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_study_that_is_asked_to_stop_saves_and_does_so(tmp_path: Path, jobs: str) -> None:
    output, matrix = tmp_path / "out", str(small_matrix(tmp_path))
    flags = [matrix, "--output", str(output), "--only", "Transformer", "--jobs", jobs]
    with started(*flags, "--set", "training.steps=100000") as process:
        wait_for_a_save(output, process)
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=100)
    assert process.returncode == 130
    assert b"Traceback" not in told
    (training,) = (output / "trainings").iterdir()
    saved = [int(path.name.removeprefix("step-")) for path in (training / CHECKPOINTS).iterdir()]
    assert max(saved) > 0
    assert not list((output / "records").iterdir())


@pytest.mark.long
def test_a_cut_of_tiny_is_killed_goes_on_and_is_not_done_again(tmp_path: Path, capsys: Output) -> None:
    output = tmp_path / "out"
    settings = ["training.steps=150", "training.save_every=20", "validation.every=1000"]
    flags = ["tiny", "--output", str(output), *(f"--set={setting}" for setting in settings)]
    for system in ("LenInit", "Transformer", "Transformer+LDPE"):
        flags += ["--only", system]
    with started(*flags, "--jobs", "2") as process:
        wait_for_a_save(output, process)
        process.kill()
        process.communicate()
    assert not list((output / "records").iterdir())
    with started(*flags, "--jobs", "2") as process:
        _, told = process.communicate()
    assert process.returncode == 0, told
    assert b"going on from step " in told
    records = open_records(output / "records")
    assert {record.steps for record in records.trainings} == {150}
    assert len(records.tests) == 3 * 5
    before, began = files_in(output / "records"), time.monotonic()
    assert run(["reproduce", *flags]) == 0
    assert time.monotonic() - began < 60
    assert files_in(output / "records") == before
    assert "| LenInit | " in capsys.readouterr().out


class BagSection(ModelSection):
    architecture: str = "bag"
    width: int = 8

    def describe(self) -> str:
        return "what is left"


class Bag(Model):
    """Write each token by what the source has on average, what was written last and what is left."""

    def __init__(self, section: BagSection, *, source_size: int, target_size: int) -> None:
        super().__init__()
        self.source = nn.Embedding(source_size, section.width)
        self.target = nn.Embedding(target_size, section.width)
        self.left = nn.Linear(1, section.width)
        self.out = nn.Linear(section.width, target_size)

    def _logits(self, bag: Tensor, tokens: Tensor, left: Tensor) -> Tensor:
        features: Tensor = bag + self.target(tokens) + self.left(left[..., None] / 10)
        logits: Tensor = self.out(features.tanh())
        return logits

    def forward(self, batch: Batch) -> Tensor:
        rows = len(batch.budget)
        lengths = batch.source_offsets.diff().long()
        row = torch.arange(rows).repeat_interleave(lengths)
        sums = torch.zeros(rows, self.source.embedding_dim).index_add(0, row, self.source(batch.source))
        bags = (sums / lengths[:, None])[batch.target_row]
        return self._logits(bags, batch.target, batch.budget[batch.target_row] - batch.consumed)

    def start(self, source: Tensor, source_lengths: Tensor, reads: Tensor, budget: Tensor) -> Started:
        real = torch.arange(source.shape[1]) < source_lengths[:, None]
        bags = (self.source(source) * real[..., None]).sum(1) / source_lengths[:, None]
        return Started((bags[reads, None], budget[:, None]), (), ())

    def step(self, tokens: Tensor, consumed: Tensor, cache: Cache, memory: Any) -> tuple[Tensor, Growth]:
        bags, budget = memory
        return self._logits(bags, tokens, budget - consumed), Growth(cache.state, ())

    def useful_flops(self, source_tokens: int, target_tokens: int) -> float:
        return 6.0 * (source_tokens * self.source.embedding_dim + target_tokens * self.out.weight.numel())


@pytest.mark.long
def test_a_new_system_needs_its_line_in_the_list_only(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ARCHITECTURES, "bag", Architecture(BagSection, f"{__name__}:Bag"))
    path = tmp_path / "bags.toml"
    path.write_text(
        """
        name = "bags"
        title = "A bag beside the published systems"
        recipe = "conv-tiny"
        set = ["data.leave_out_lengths=[]", "data.workers=1", "training.steps=12", "validation.decode=0"]
        data = { examples = 300 }
        tests = [{ name = "t", data = "test", first = 4, cells = [{ name = "30", length = 30 }] }]

        [[systems]]
        name = "Bag"
        section = "Baselines"
        set = ["model={architecture=\\"bag\\"}"]

        [[tables]]
        name = "gigaword"
        title = "ROUGE"
        published = "gigaword"
        columns = [{ title = "len = 30", test = "t", cell = "30", published = "30" }]
        """,
        encoding="utf-8",
    )
    assert run(["reproduce", str(path), "--output", str(tmp_path / "out"), *ON_CPU]) == 0
    (record,) = open_records(tmp_path / "out" / "records").tests
    assert record.cells["30"].n == 4
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| Bag |"))
    recall = record.cells["30"].rouge["whole"]["R1"]["recall"]
    assert f"**{100 * recall:.2f}**" in row
