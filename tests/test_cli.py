import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from copyfit.checkpoint import save_checkpoint
from copyfit.cli.app import run
from copyfit.text.presets import PRESETS
from copyfit.writing.headline import MiscountError
from copyfit.writing.writer import Writer
from support_cli import Output, complaint, stdin, write
from support_writing import ARTICLE, TEXTS, random_weights, save_tiny, tiny_checkpoint


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture(scope="module")
def writer(model: str) -> Writer:
    return Writer(model, device="cpu")


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
