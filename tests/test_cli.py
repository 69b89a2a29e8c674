import inspect
import io
import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from copyfit import __version__
from copyfit.checkpoint import save_checkpoint
from copyfit.cli.app import COMMANDS, function_of, run
from copyfit.text.presets import PRESETS
from copyfit.writing.headline import MiscountError
from copyfit.writing.writer import Writer
from support_cli import Output, complaint
from support_writing import ARTICLE, TEXTS, random_weights, save_tiny, tiny_checkpoint


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture(scope="module")
def writer(model: str) -> Writer:
    return Writer(model, device="cpu")


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def write(model: str, *arguments: str) -> int:
    return run(["write", "--model", model, "--num-beams", "1", *arguments])


def squeezed(text: str) -> list[str]:
    """Return the lines of a table without its columns."""
    return [" ".join(line.split()) for line in text.splitlines()]


def program(*arguments: str, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([sys.executable, "-m", "copyfit", *arguments], capture_output=True, **more)


def program_without(library: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    script = f"import sys; sys.modules[{library!r}] = None; from copyfit.__main__ import main; main()"
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)


def test_a_headline_and_nothing_else_is_on_standard_output(
    model: str, writer: Writer, capsys: Output
) -> None:
    assert write(model, ARTICLE, "--length", "12") == 0
    assert capsys.readouterr() == (writer(ARTICLE, length=12, num_beams=1) + "\n", "")


def test_lengths_and_candidates_are_written_a_line_each(model: str, writer: Writer, capsys: Output) -> None:
    assert write(model, ARTICLE, "--length", "9", "--length", "6", "--candidates", "3") == 0
    expected = [
        each.text
        for length in (9, 6)
        for each in writer.candidates(ARTICLE, length=length, count=3, num_beams=1)
    ]
    assert capsys.readouterr().out.splitlines() == expected


def test_the_count_is_shown_when_asked_for(model: str, capsys: Output) -> None:
    assert write(model, ARTICLE, "--length", "8", "--unit", "byte", "--show-count") == 0
    text, count = capsys.readouterr().out.rstrip("\n").split("\t")
    assert count == f"{len(text.encode())} byte" == "8 byte"


WRAPPED = ("\ufeff" + ARTICLE.replace(" ", "\r\n") + "\n").encode()


@pytest.mark.parametrize("flags", [["--file", "-"], []])
def test_the_article_comes_from_standard_input(
    model: str, capsys: Output, monkeypatch: pytest.MonkeyPatch, flags: list[str]
) -> None:
    stdin(monkeypatch, WRAPPED)
    assert write(model, ARTICLE, "--length", "9") == write(model, "--length", "9", *flags) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_the_article_comes_from_a_file(model: str, writer: Writer, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "a.txt").write_bytes(WRAPPED)
    assert write(model, "--length", "9", "--file", str(tmp_path / "a.txt")) == 0
    assert capsys.readouterr() == (writer(ARTICLE, length=9, num_beams=1) + "\n", "")


def test_every_line_can_be_a_text(
    model: str, writer: Writer, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin(monkeypatch, "\n".join([*TEXTS[:3], "", TEXTS[3]]).encode())
    assert write(model, "--length", "9", "--lines", "--batch-size", "1") == 2
    first, second, third, fourth = writer(list(TEXTS[:4]), length=9, num_beams=1)
    output = capsys.readouterr()
    assert output.out.split("\n") == [first, second, third, "", fourth, ""]
    assert output.err == (
        "copyfit: error: line 4: the text must not be empty; give an article to write a headline for\n"
    )


@pytest.mark.parametrize("command", ["write", "count"])
def test_no_line_at_all_is_a_mistake(
    model: str, capsys: Output, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    stdin(monkeypatch, b"")
    flags = ["--length", "9", "--model", model] if command == "write" else []
    assert run([command, "--lines", *flags]) == 2
    message = "standard input must have at least one line, it is empty"
    assert capsys.readouterr() == ("", f"copyfit: error: {message}\n")


def test_every_text_and_length_has_as_many_lines_as_candidates(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = tiny_checkpoint("character", texts=("ab", "ba"))
    save_checkpoint(tmp_path / "model", checkpoint, random_weights(checkpoint))
    stdin(monkeypatch, b"ab\n\nba\n")
    flags = ["--lines", "--length", "1", "--length", "2", "--candidates", "6"]
    assert write(str(tmp_path / "model"), *flags) == 2
    lines = capsys.readouterr().out.split("\n")
    assert lines.pop() == ""
    # Of two letters there are two texts of one letter and four of two.
    groups = [lines[first : first + 6] for first in range(0, len(lines), 6)]
    assert [sum(map(bool, group)) for group in groups] == [2, 4, 0, 0, 2, 4]
    assert all(sorted(group, key=bool, reverse=True) == group for group in groups)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--length", "9"], {"budget": 9, "unit": "char", "mode": "exact", "preset": None}),
        (["--max", "9"], {"budget": 9, "unit": "char", "mode": "max", "preset": None}),
        (["--min", "5", "--max", "9"], {"budget": 9, "mode": "range", "min": 5}),
        (["--min", "5", "--length", "9"], {"budget": 9, "mode": "range", "min": 5}),
        (["--min", "5"], {"budget": None, "mode": "range", "min": 5}),
        (
            ["--for", "google-ads-path"],
            {"budget": 15, "unit": "cell", "mode": "max", "preset": "google-ads-path"},
        ),
        (["--length", "9", "--mode", "max", "--unit", "x"], {"budget": 9, "unit": "x", "mode": "max"}),
        ([], {"budget": 24, "unit": "char", "mode": "free"}),
    ],
)
def test_json_is_as_promised(model: str, capsys: Output, flags: list[str], expected: dict[str, Any]) -> None:
    assert write(model, ARTICLE, "--json", "--candidates", "2", *flags) == 0
    values = json.loads(capsys.readouterr().out)
    assert {key: values[key] for key in expected} == expected
    assert ("min" in values) == ("min" in expected)
    keys = {"index", "budget", "unit", "mode", "preset", "headlines", "truncated", "model", "error"}
    assert set(values) - {"min"} == keys
    assert (values["index"], values["model"], values["truncated"], values["error"]) == (
        0,
        "tiny",
        False,
        None,
    )
    assert len(values["headlines"]) == 2
    for headline in values["headlines"]:
        assert set(headline) == {"text", "length", "fits", "whole_words", "score", "aim"}
        assert isinstance(headline["fits"], bool)
        assert isinstance(headline["whole_words"], bool)
        assert headline["score"] < 0


def test_json_of_texts_and_lengths_counts_the_texts(
    model: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin(monkeypatch, f"{TEXTS[0]}\n\n{TEXTS[1]}\n".encode())
    assert write(model, "--lines", "--json", "--length", "7", "--length", "5") == 2
    output = capsys.readouterr()
    answers = [json.loads(line) for line in output.out.splitlines()]
    assert [(each["index"], each["budget"]) for each in answers] == [
        (index, budget) for index in range(3) for budget in (7, 5)
    ]
    assert [each["error"] is None for each in answers] == [True, True, False, False, True, True]
    assert answers[2]["headlines"] == []


def test_a_headline_that_cannot_fit_is_told_and_no_failure(tmp_path: Path, capsys: Output) -> None:
    checkpoint = tiny_checkpoint("character", texts=("東京大雨", "電車新橋"))
    save_checkpoint(tmp_path / "model", checkpoint, random_weights(checkpoint))
    assert write(str(tmp_path / "model"), "東京", "--length", "7", "--unit", "cell") == 0
    output = capsys.readouterr()
    assert len(output.out) == 4
    assert output.err == "copyfit: note: no headline is exact 7 cell; this one is 6\n"


def test_words_can_be_required_and_the_start_given(model: str, capsys: Output) -> None:
    assert (
        write(model, ARTICLE, "--length", "24", "--require", "park", "--require", "storm", "--start", "The")
        == 0
    )
    out = capsys.readouterr().out
    assert out.startswith("The")
    assert "park" in out
    assert "storm" in out


def test_a_file_of_rows_is_written(model: str, tmp_path: Path, capsys: Output) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.csv"
    source.write_text(json.dumps({"text": ARTICLE, "limit": 8}) + "\n")
    flags = ["--input", str(source), "--output", str(target), "--length-column", "limit"]
    assert write(model, *flags) == 0
    assert capsys.readouterr() == ("", "")
    assert target.read_text(encoding="utf-8").startswith("text,limit,headline,headline_length,fits,")
    assert write(model, *flags, "--resume") == 0


@pytest.mark.parametrize(
    ("flags", "own", "fitting"),
    [
        (["--unit", "byte"], {"length": 8}, {8}),
        (["--mode", "max"], {"length": 8}, set(range(1, 9))),
        (["--mode", "range", "--max", "8"], {"min": 6}, {6, 7, 8}),
        (["--max", "8"], {"min": 6}, {6, 7, 8}),
        (["--for", "sms"], {"length": 8}, {8}),
    ],
)
def test_flags_may_need_what_only_the_rows_bring(
    model: str, tmp_path: Path, capsys: Output, *, flags: list[str], own: dict[str, int], fitting: set[int]
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"text": ARTICLE, **own}) + "\n")
    assert write(model, "--input", str(source), *flags) == 0
    assert json.loads(capsys.readouterr().out)["headline_length"] in fitting


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--unit", "pixel"], "the unit must be one of"),
        (["--mode", "any"], "mode must be one of"),
        (["--for", "any"], "any"),
        (["--min", "0"], "min must be from 1"),
        (["--length", "0"], "length must be from 1"),
        (["--min", "9", "--mode", "max"], "min goes with mode range"),
    ],
)
def test_flags_that_no_row_can_mend_are_told_before_anything_is_written(
    model: str, tmp_path: Path, capsys: Output, *, flags: list[str], message: str
) -> None:
    (tmp_path / "in.jsonl").write_text("{}\n")
    target = tmp_path / "out.jsonl"
    assert write(model, "--input", str(tmp_path / "in.jsonl"), "--output", str(target), *flags) == 2
    assert message in capsys.readouterr().err
    assert not target.exists()


def test_rows_come_from_standard_input_and_go_to_standard_output(
    model: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin(monkeypatch, (json.dumps({"text": ARTICLE}) + '\n{"text": ""}\n').encode())
    assert write(model, "--input", "-", "--length", "7") == 2
    output = capsys.readouterr()
    rows = [json.loads(line) for line in output.out.splitlines()]
    assert [row["headline_length"] for row in rows] == [7, None]
    assert output.err == "copyfit: error: 1 of 2 rows failed, see their column `error`\n"


def test_rows_that_do_not_fit_are_told(tmp_path: Path, capsys: Output) -> None:
    checkpoint = tiny_checkpoint("character", texts=("東京大雨", "電車新橋"))
    save_checkpoint(tmp_path / "model", checkpoint, random_weights(checkpoint))
    (tmp_path / "in.txt").write_text("東京\n大雨\n", encoding="utf-8")
    flags = ["--input", str(tmp_path / "in.txt"), "--length", "5", "--unit", "cell"]
    assert write(str(tmp_path / "model"), *flags) == 0
    assert capsys.readouterr().err == "copyfit: note: 2 of 2 rows do not fit, see their column `fits`\n"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["x", "--length", "0"], "length must be from 1 to 10000, given 0"),
        (["x", "--length", "-3"], "length must be from 1 to 10000, given -3"),
        (["x", "--length", "9" * 30], "length must be from 1 to 10000"),
        (["x", "--length", "ten"], "'--length'"),
        (["x", "--length", "9.5"], "'--length'"),
        (["x", "--length", "9", "--max", "8"], "not by both"),
        (["x", "--min", "9", "--max", "8"], "min must not be above max"),
        (["x", "--length", "9", "--unit", "chars"], "did you mean 'char'"),
        (["x", "--length", "9", "--mode", "any"], "mode must be one of"),
        (["x", "--for", "google-ads"], "google-ads"),
        (["x", "--for", "sms", "--length", "9"], "brings its own length"),
        (["x", "--length", "9", "--candidates", "0"], "candidates must be a whole number from 1 to 100"),
        (["x", "--length", "9", "--num-beams", "101"], "num_beams must be"),
        (["x", "--length", "9", "--batch-size", "0"], "batch_size must be"),
        (["x", "--length", "5", "--require", "harbour"], "'harbour' must fit into exact 5 char"),
        (["x", "--length", "9", "--device", "abacus"], "the device must be cpu, cuda or cuda:N"),
        (["x", "--length", "9", "--file", "y"], "the text is given twice"),
        (["x", "--length", "9", "--lines"], "the text is given twice"),
        (["x", "--length", "9", "--output", "y"], "go with --input"),
        (["x", "--length", "9", "--resume"], "go with --input"),
        (["x", "--input", "y.csv"], "--input brings its own texts"),
        (["--input", "nothing.csv"], "nothing.csv must be a file"),
        (["--file", "nothing.txt", "--length", "9"], "nothing.txt"),
        (["--file", "/", "--length", "9"], "/"),
        ([" ", "--length", "9"], "the text must not be empty"),
        (["x", "--lenght", "9"], "No such option"),
        (["x", "y", "--length", "9"], "unexpected extra argument"),
        (["x", "--length"], "requires an argument"),
    ],
)
def test_a_mistake_is_told_in_one_line(model: str, capsys: Output, flags: list[str], message: str) -> None:
    assert write(model, *flags) == 2
    assert message in complaint(capsys)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_cuda_asked_for_and_absent_is_told(model: str, capsys: Output) -> None:
    assert write(model, "x", "--length", "9", "--device", "cuda") == 2
    assert capsys.readouterr().err == (
        "copyfit: error: the device cuda must be there, PyTorch finds 0 GPUs; use cpu\n"
    )


def test_text_that_is_not_utf8_is_told(
    model: str, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin(monkeypatch, b"caf\xe9")
    assert write(model, "--length", "9") == 2
    assert "standard input must be UTF-8 text: byte 3 is not" in capsys.readouterr().err
    (tmp_path / "a.txt").write_bytes(b"fine\ncaf\xe9\n")
    assert write(model, "--length", "9", "--lines", "--file", str(tmp_path / "a.txt")) == 2
    assert "a.txt: line 2 must be UTF-8" in capsys.readouterr().err


def test_a_damaged_model_is_told(tmp_path: Path, capsys: Output) -> None:
    folder = save_tiny(tmp_path / "model")
    with (folder / "model.safetensors").open("r+b") as file:
        file.truncate(5_000)
    for command in (["write", "x", "--length", "9", "--model", str(folder)], ["info", str(folder)]):
        assert run(command) == 2
        error = capsys.readouterr().err
        assert "model.safetensors must have" in error
        assert error.count("\n") == 1


def test_without_a_model_there_is_one_line_on_what_to_do(capsys: Output) -> None:
    assert run(["write", "x", "--length", "9"]) == 2
    assert "no model comes with this version: give the folder of one (--model DIR)" in capsys.readouterr().err


def test_without_a_text_a_terminal_is_not_read(
    model: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller, terminal = os.openpty()
    with os.fdopen(terminal) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert write(model, "--length", "9") == 2
    os.close(controller)
    assert "a text must be given" in capsys.readouterr().err


def test_a_bug_keeps_its_traceback(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copyfit.writing.writer.count_units", lambda *_: 99)
    with pytest.raises(MiscountError):
        write(model, "x", "--length", "9")


def test_info_describes_a_model(model: str, capsys: Output) -> None:
    assert run(["info", model]) == 0
    out = capsys.readouterr().out
    for part in ("tiny: ", "24 char", "150 tokens", "Training pairs", "ldpe+pe"):
        assert part in out
    assert run(["info", model, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["path"] == model
    assert values["unit"] == "char"
    assert values["facts"]["Training pairs"] == 8
    assert set(values["files"]) >= {"model.safetensors"}


def test_models_says_that_there_are_none(capsys: Output) -> None:
    assert run(["models"]) == 0
    output = capsys.readouterr()
    assert output.out == ""
    assert "any model folder is a model: --model DIR" in output.err


def test_models_lists_those_that_come_along(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(import_module("copyfit.writing.models").BUNDLED, "news", Path("/models/news"))
    assert run(["models"]) == 0
    assert run(["models", "--json"]) == 0
    assert capsys.readouterr() == ('news\t/models/news\n{"name": "news", "path": "/models/news"}\n', "")


def test_presets_lists_all_of_them(capsys: Output) -> None:
    assert run(["presets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [preset.name for preset in PRESETS]
    assert run(["presets", "--json"]) == 0
    values = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["name"], each["limit"]) for each in values] == [(each.name, each.limit) for each in PRESETS]


def test_count_counts(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["count", "東京 7", "--unit", "cell"]) == 0
    stdin(monkeypatch, "é\n東京\n".encode())
    assert run(["count", "--lines", "--unit", "byte"]) == 0
    stdin(monkeypatch, "é".encode())
    assert run(["count"]) == 0
    stdin(monkeypatch, "é\n\r\n".encode())
    assert run(["count"]) == 0
    assert capsys.readouterr().out.split() == ["6", "2", "6", "1", "2"]
    assert run(["count", "x", "--unit", "mile"]) == 2


def test_examples_are_written_or_one_line_says_why_not(tmp_path: Path, capsys: Output) -> None:
    assert run(["examples", str(tmp_path / "data"), "--pairs", "40"]) == 0
    assert len((tmp_path / "data" / "train.tsv").read_text(encoding="utf-8").splitlines()) == 40
    (tmp_path / "file").touch()
    assert run(["examples", str(tmp_path / "file" / "data")]) == 2
    assert "cannot write to" in capsys.readouterr().err
    assert run(["examples", str(tmp_path / "data"), "--pairs", "0"]) == 2


RECIPE = """
name = "tiny"
[data]
train = ["{folder}/train.tsv"]
validation = ["{folder}/validation.tsv"]
workers = 1
[source]
size = 300
[target]
minimum = 1
[model]
width = 16
heads = 2
inner = 16
encoder_layers = 1
decoder_layers = 1
[batches]
target_tokens = 512
[training]
steps = 2
save_every = 2
warmup_steps = 1
[validation]
decode = 0
"""


def test_a_recipe_becomes_a_model_that_writes(tmp_path: Path, capsys: Output) -> None:
    recipe, output = tmp_path / "recipe.toml", tmp_path / "run"
    recipe.write_text(RECIPE.format(folder=tmp_path), encoding="utf-8")
    assert run(["examples", str(tmp_path), "--pairs", "200"]) == 0
    assert run(["prepare", str(recipe), "--output", str(tmp_path / "data")]) == 0
    assert "train 200 200 0" in squeezed(capsys.readouterr().out)
    assert run(["train", str(recipe), "--output", str(output), "--set", "training.steps=3"]) == 0
    assert run(["train", str(recipe), "--output", str(output), "--set", "training.steps=3", "--resume"]) == 0
    capsys.readouterr()
    assert write(str(output / "best"), ARTICLE, "--length", "9") == 0
    assert len(capsys.readouterr().out) == 10


def test_prepare_and_train_tell_what_was_dropped(tmp_path: Path, capsys: Output) -> None:
    assert run(["examples", str(tmp_path), "--pairs", "100"]) == 0
    validation = (tmp_path / "validation.tsv").read_text(encoding="utf-8").splitlines()
    # Of pairs without duplicates two are repeated, three are of validation; two of those are repeated too.
    train = list(dict.fromkeys((tmp_path / "train.tsv").read_text(encoding="utf-8").splitlines()))
    train += [*train[:2], *validation[:3]]
    validation += validation[:2]
    for name, lines in (("train", train), ("validation", validation)):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.format(folder=tmp_path), encoding="utf-8")
    settings = ["--set", "data.filters.duplicates=pair", "--set", "training.steps=1"]
    prepare = ["prepare", str(recipe), *settings, "--output", str(tmp_path / "data")]
    assert run(prepare) == 0
    table = squeezed(capsys.readouterr().out)
    assert run([*prepare, "--json"]) == 0
    parts = json.loads(capsys.readouterr().out)
    assert parts.pop("path") == str(tmp_path / "data")
    assert parts["train"]["read"] == len(train)
    assert parts["train"]["dropped"] == {"duplicate": 2, "held_out": 3}
    assert parts["validation"]["read"] == len(validation)
    assert parts["validation"]["dropped"] == {"duplicate": 2}
    assert parts["total"] == {
        "read": len(train) + len(validation),
        "kept": len(train) + len(validation) - 7,
        "dropped": {"duplicate": 4, "held_out": 3},
    }
    assert table == [
        "read kept dropped",
        f"train {len(train)} {len(train) - 5} 5",
        "duplicate 2 was there before, by data.filters.duplicates",
        "held_out 3 its source is among the validation pairs",
        f"validation {len(validation)} {len(validation) - 2} 2",
        "duplicate 2",
        f"total {parts['total']['read']} {parts['total']['kept']} 7",
        "duplicate 4",
        "held_out 3",
    ]
    assert run(["train", str(recipe), *settings, "--output", str(tmp_path / "run")]) == 0
    assert squeezed(capsys.readouterr().err)[: len(table)] == table
    assert run(["train", str(recipe), *settings, "--output", str(tmp_path / "run"), "--resume"]) == 0
    assert "held_out" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "prepare"])
def test_a_mistake_in_a_recipe_is_told_in_one_line(tmp_path: Path, capsys: Output, command: str) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.format(folder=tmp_path), encoding="utf-8")
    for arguments, message in (
        ([str(tmp_path / "none.toml")], "cannot read"),
        ([str(recipe), "--set", "training.stepz=3"], "unknown key 'training.stepz'"),
        ([str(recipe), "--set", "training.steps=0"], "training.steps"),
        ([str(recipe), "--set", "seed"], "key=value"),
    ):
        assert run([command, *arguments, "--output", str(tmp_path / "run")]) == 2
        assert message in complaint(capsys)


@pytest.mark.parametrize("command", ["train", "prepare"])
def test_a_missing_file_of_pairs_is_told(tmp_path: Path, capsys: Output, command: str) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(RECIPE.format(folder=tmp_path), encoding="utf-8")
    assert run([command, str(recipe), "--output", str(tmp_path / "output")]) == 2
    assert f"copyfit: error: {tmp_path}/train.tsv" in capsys.readouterr().err


@pytest.mark.parametrize("library", ["torch", "jaxtyping", "accelerate", "rich"])
def test_without_a_library_of_training_it_says_what_to_install(tmp_path: Path, library: str) -> None:
    (tmp_path / "recipe.toml").write_text(RECIPE.format(folder=tmp_path), encoding="utf-8")
    done = program_without(library, "train", str(tmp_path / "recipe.toml"), "--output", str(tmp_path / "run"))
    assert done.returncode == 2
    assert done.stderr == f"copyfit: error: training needs {library}: pip install 'copyfit[train]'\n"


@pytest.mark.parametrize("library", ["torch", "jaxtyping"])
def test_without_a_library_of_models_writing_says_what_to_install(model: str, library: str) -> None:
    done = program_without(library, "write", "A storm", "--length", "9", "--model", model)
    assert done.returncode == 2
    assert done.stderr == f"copyfit: error: running a model needs {library}: pip install 'copyfit[train]'\n"


def test_a_missing_library_that_no_extra_brings_is_a_bug(model: str) -> None:
    done = program_without("tokenizers", "write", "A storm", "--length", "9", "--model", model)
    assert done.returncode == 1
    assert "ModuleNotFoundError" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands(arguments: list[str], capsys: Output) -> None:
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert all(f"  {command} " in out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_as_it_is_listed(command: str, capsys: Output) -> None:
    assert inspect.getdoc(function_of(command)) == COMMANDS[command]
    assert run([command, "--help"]) == 0
    assert " ".join(COMMANDS[command].split()[:4]) in capsys.readouterr().out


def test_the_version_is_shown(capsys: Output) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize("arguments", [["wirte"], ["--nothing"]])
def test_an_unknown_command_is_told_in_one_line(arguments: list[str], capsys: Output) -> None:
    assert run(arguments) == 2
    assert complaint(capsys).startswith("copyfit: error: No such")


HEAVY = {"torch", "numpy", "pydantic", "tokenizers", "pyarrow", "rich", "onnxruntime", "safetensors"}


def test_help_loads_no_heavy_library() -> None:
    script = (
        "import sys; from copyfit.cli.app import run; run(['--help']);"
        f"sys.exit(sorted({HEAVY} & set(sys.modules)) or 0)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stderr == ""


def quickest(*command: str) -> float:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def test_help_is_quick() -> None:
    # As a ratio to an interpreter that does nothing, so that a busy machine is no failure.
    bare = quickest(sys.executable, "-c", "pass")
    assert quickest(sys.executable, "-m", "copyfit", "--help") < 12 * bare


def test_the_program_ends_as_promised(model: str) -> None:
    done = program("write", ARTICLE, "--length", "8", "--model", model)
    assert (done.returncode, len(done.stdout.decode()), done.stderr) == (0, 9, b"")
    failed = program("write", "x", "--length", "0", "--model", model)
    assert (failed.returncode, failed.stdout) == (2, b"")
    assert failed.stderr == b"copyfit: error: length must be from 1 to 10000, given 0\n"


@pytest.mark.parametrize("arguments", [["presets"], ["--version"], ["count", "--lines"]])
def test_a_reader_that_goes_away_is_no_error(
    arguments: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin(monkeypatch, b"text\n" * 9_000)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run(arguments) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("buffering", [-1, 1])
def test_a_full_disk_is_told_in_one_line(
    buffering: int, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Path("/dev/full").open("w", buffering)  # noqa: SIM115 - closing it fails, as it must
    monkeypatch.setattr(sys, "stdout", stream)
    assert run(["--version"]) == 2
    message = "cannot write to standard output: No space left on device"
    assert capsys.readouterr().err == f"copyfit: error: {message}\n"
    with pytest.raises(OSError, match="No space left"):
        stream.close()


def test_standard_output_may_be_no_real_file(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    assert run(["--version"]) == 0
    assert stream.getvalue() == f"{__version__}\n"


class Interrupted(io.RawIOBase):
    """Be an input at which someone presses Ctrl-C."""

    def readable(self) -> bool:
        return True

    def readinto(self, _: Any) -> int:
        signal.raise_signal(signal.SIGINT)
        return 0


def test_an_interrupt_is_130(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Interrupted())))
    assert run(["count"]) == 130
    assert capsys.readouterr() == ("", "")


def test_an_interrupted_program_leaves_with_130_and_no_traceback(model: str) -> None:
    command = [sys.executable, "-m", "copyfit", "write", "--lines", "--length", "5", "--model", model]
    with subprocess.Popen(
        [*command, "--batch-size", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"A storm\n" * 9)
        process.stdin.flush()
        # The first headline tells that it is at work, waiting for more lines.
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130
    assert errors == b""


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_output_is_utf8_in_every_locale(locale: str) -> None:
    environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = program("presets", env=environment)
    assert done.returncode == 0
    done.stdout.decode("utf-8")


@pytest.mark.parametrize(
    ("arguments", "closed", "message"),
    [
        ("count abc", ">&-", "standard output must be open, it is closed; leave out >&-"),
        ("count", "<&-", "standard input must be open, it is closed; leave out <&-"),
        ("write --length 9", "<&-", "standard input must be open, it is closed; leave out <&-"),
        ("write --length 9 --input -", "<&-", "standard input must be open, it is closed; leave out <&-"),
        ("write storm --length 9", ">&-", "standard output must be open, it is closed; leave out >&-"),
    ],
)
def test_a_closed_stream_is_told(model: str, arguments: str, closed: str, message: str) -> None:
    more = f"--model {model}" if arguments.startswith("write") else ""
    done = shell(f"{arguments} {more} {closed}")
    assert (done.returncode, done.stderr) == (2, f"copyfit: error: {message}\n")


def shell(line: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["sh", "-c", f"{sys.executable} -m copyfit {line}"], capture_output=True, text=True)


def test_a_closed_stream_that_is_not_needed_is_no_mistake(model: str, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("A storm\n", encoding="utf-8")
    files = f"--input {tmp_path}/in.txt --output {tmp_path}/out.txt"
    done = shell(f"write --length 9 --model {model} {files} <&- >&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert len((tmp_path / "out.txt").read_text(encoding="utf-8")) == 10
    assert shell("count abc --unit mile 2>&-").returncode == 2
