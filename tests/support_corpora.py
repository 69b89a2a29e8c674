"""Small corpora in the formats of their owners, every sentence of our own."""

import csv
import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from copyfit.cli.app import run

AUTHORS = "ABCD"


def write(path: Path, content: str) -> Path:
    """Write a file and the folders it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8", newline="")
    return path


def write_lines(path: Path, lines: Sequence[str]) -> Path:
    """Write a file of lines."""
    return write(path, "".join(f"{line}\n" for line in lines))


def convert(name: str, inputs: Sequence[Path], output: Path, *flags: str) -> int:
    """Run the command."""
    return run(["corpus", name, *map(str, inputs), "--output", str(output), *flags])


def pairs_of(path: Path) -> list[list[str]]:
    """Read a file of pairs as the lines and tabs it is."""
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def references_of(path: Path) -> list[tuple[str, list[str]]]:
    """Read a file of references."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert all(list(record) == ["source", "references"] for record in records)
    return [(record["source"], record["references"]) for record in records]


def report_of(folder: Path) -> dict[str, Any]:
    """Read a report, and check that its numbers add up."""
    report: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    for part in report["parts"].values():
        assert part["read"] == part["kept"] + sum(part["dropped"].values())
    for name, number in report["files"].items():
        assert len((folder / name).read_bytes().splitlines()) == number
    assert {path.name for path in folder.iterdir()} == {"report.json", *report["files"]}
    return report


def write_document(docs: Path, cluster: str, number: str, text: str) -> Path:
    """Write a document of DUC."""
    return write(
        docs / cluster / number,
        f"<DOC>\n<DOCNO> {number} </DOCNO>\n<DOCTYPE> NEWS </DOCTYPE>\n<TXTTYPE> NEWSWIRE </TXTTYPE>\n"
        f"<TEXT>\n{text}\n</TEXT>\n</DOC>\n",
    )


def write_summaries(models: Path, cluster: str, number: str, summaries: Sequence[str]) -> list[Path]:
    """Write model summaries of DUC."""
    return [
        write(models / f"{cluster}.P.10.T.{author}.{number}", f"{summary}\n")
        for author, summary in zip(AUTHORS, summaries, strict=True)
    ]


def as_csv(rows: Sequence[Sequence[str]]) -> str:
    """Write rows of JAMUL."""
    stream = StringIO(newline="")
    csv.writer(stream).writerows(rows)
    return stream.getvalue()
