"""Made-up news and its headlines, from a small grammar: enough to learn length control from in a minute.

Words that may be left out have one length within their class: numbers 3 letters, places 4, speakers 8. So
what fits into the rest of a budget does not depend on the story, and each story has headlines of every length
from 24 characters on.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import NamedTuple

SHORTEST = 12
LONGEST = 60
STORIES = 4
"""How many stories an article tells."""
EDITED = (25, 35, 45)
"""How long the headlines are that one story of `multi-length-test.jsonl` has."""
WRITERS = 4
LEAST_OF_WRITERS = 40
"""How many headlines a story of `writers-test.jsonl` has, and how long they are at least."""


class Kind(NamedTuple):
    """The words of one kind of event. A topic is what a headline without a verb is about."""

    article: str
    topic: str
    agent_traits: tuple[str, ...]
    agents: tuple[str, ...]
    verbs: tuple[str, ...]
    object_traits: tuple[str, ...]
    objects: tuple[str, ...]
    extras: tuple[str, ...]
    consequences: tuple[str, ...]


KINDS = (
    Kind(
        article="A",
        topic="agent",
        agent_traits=("heavy", "great", "quick"),
        agents=("storm", "flood", "fire"),
        verbs=("shuts", "hits", "harms"),
        object_traits=("busy", "main", "tiny"),
        objects=("roads", "farms", "schools", "bridges"),
        extras=("for a week", "for a year", "in one day"),
        consequences=("trains stop", "shops close", "buses crawl"),
    ),
    Kind(
        article="The",
        topic="objects",
        agent_traits=("young", "local", "proud"),
        agents=("mayor", "town", "bank"),
        verbs=("opens", "plans", "buys"),
        object_traits=("huge", "calm", "cosy"),
        objects=("parks", "pools", "halls", "museums"),
        extras=("for guests", "for locals", "next month"),
        consequences=("taxes climb", "crowds clap", "locals wait"),
    ),
    Kind(
        article="Some",
        topic="objects",
        agent_traits=("lucky", "brave", "young"),
        agents=("divers", "hikers", "pupils"),
        verbs=("find", "save", "count"),
        object_traits=("wild", "rare", "grey"),
        objects=("owls", "seals", "wolves", "turtles"),
        extras=("by a river", "on an isle", "after rain"),
        consequences=("crowds come", "locals gape", "zoos wonder"),
    ),
    Kind(
        article="A",
        topic="objects",
        agent_traits=("small", "giant", "proud"),
        agents=("mill", "school", "bakery"),
        verbs=("hires", "seeks", "pays"),
        object_traits=("keen", "able", "idle"),
        objects=("cooks", "clerks", "bakers", "drivers"),
        extras=("for winter", "for summer", "this month"),
        consequences=("prices fall", "wages climb", "rivals fret"),
    ),
)
NUMBERS = ("two", "six", "ten")
PLACES = ("Oxby", "Tarn", "Elby", "Skar", "Wend", "Holm")
DAYS = ("Monday", "Friday", "Sunday")
HOURS = ("at dawn", "at noon", "at dusk")
SPEAKERS = ("teachers", "planners", "officers")
LEADS = (
    "{agent} {verb} {objects} {extra} in {place} too on {day} {hour}, {speaker} say, as {consequence}.",
    "On {day} {hour}, {agent} {verb} {objects} {extra} in {place} too as {consequence}, {speaker} say.",
    "On {day} {hour} in {place} too, {agent} {verb} {objects} {extra}, {speaker} say, as {consequence}.",
)
FOLLOW_UPS = (
    "The next report is due on {other_day}.",
    "People in {other_place} watch with interest.",
    "The last such case, {other_number} years ago, was smaller.",
)


class Story(NamedTuple):
    """One event: every part that a source tells and a headline may leave out."""

    kind: Kind
    agent_trait: str
    agent: str
    verb: str
    number: str
    object_trait: str
    objects: str
    extra: str
    consequence: str
    place: str
    day: str
    hour: str
    speaker: str


class Item(NamedTuple):
    """A story as it is told, and a headline."""

    source: str
    headline: str
    story: Story


def write_examples(directory: Path, pairs: int = 20_000, seed: int = 1) -> None:
    """Write train.tsv, a twentieth as many pairs each into validation.tsv and test.tsv, and article.txt.

    And as many stories each into two tests with several headlines a story: multi-length-test.jsonl, where
    they have three lengths, and writers-test.jsonl, where four writers wrote one each.
    """
    directory.mkdir(parents=True, exist_ok=True)
    twentieth = -(-pairs // 20)
    random = Random(seed)
    stream = _items(random)
    for name, size in (("train", pairs), ("validation", twentieth), ("test", twentieth)):
        lines = (f"{item.source}\t{item.headline}\n" for item in islice(stream, size))
        (directory / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    (directory / "article.txt").write_text(next(stream).source + "\n", encoding="utf-8")
    edited = (_with_references(item, EDITED, random) for item in islice(stream, twentieth))
    (directory / "multi-length-test.jsonl").write_text("".join(edited), encoding="utf-8")
    lengths = range(LEAST_OF_WRITERS, LONGEST + 1)
    written = (
        _with_references(item, random.sample(lengths, WRITERS), random) for item in islice(stream, twentieth)
    )
    (directory / "writers-test.jsonl").write_text("".join(written), encoding="utf-8")


def articles(count: int, seed: int = 1) -> list[str]:
    """Return made-up articles of some sentences, as long as the beginning of real ones."""
    stream = generate(seed)
    return [" ".join(source for source, _ in islice(stream, STORIES)) for _ in range(count)]


def generate(seed: int) -> Iterator[tuple[str, str]]:
    """Yield (source, headline) for ever: sources are distinct, lengths of headlines spread evenly."""
    return ((item.source, item.headline) for item in _items(Random(seed)))


def _items(random: Random) -> Iterator[Item]:
    told: set[str] = set()
    while True:
        story, headline = _reach(random.randint(SHORTEST, LONGEST), random)
        source = _tell(story, random)
        if source not in told:
            told.add(source)
            yield Item(source, headline, story)


def _with_references(item: Item, lengths: Sequence[int], random: Random) -> str:
    """Write a line with headlines of some lengths, of which every story has some."""
    references = [_headline(item.story, length, random) for length in lengths]
    return json.dumps({"source": item.source, "references": references}) + "\n"


def _reach(length: int, random: Random) -> tuple[Story, str]:
    """Invent stories until one has a headline of the wanted length: short ones need short words."""
    while True:
        story = _invent(random)
        headline = _headline(story, length, random)
        if headline:
            return story, headline


def _headline(story: Story, length: int, random: Random) -> str | None:
    cores = defaultdict(list)
    for core in _cores(story):
        cores[len(core)].append(core)
    tails = [tail for tail in _tails(story) if length - len(tail) in cores]
    if not tails:
        return None
    tail = random.choice(tails)
    return _capitalised(random.choice(cores[length - len(tail)]) + tail)


def _invent(random: Random) -> Story:
    kind = random.choice(KINDS)
    return Story(
        kind=kind,
        agent_trait=random.choice(kind.agent_traits),
        agent=random.choice(kind.agents),
        verb=random.choice(kind.verbs),
        number=random.choice(NUMBERS),
        object_trait=random.choice(kind.object_traits),
        objects=random.choice(kind.objects),
        extra=random.choice(kind.extras),
        consequence=random.choice(kind.consequences),
        place=random.choice(PLACES),
        day=random.choice(DAYS),
        hour=random.choice(HOURS),
        speaker=random.choice(SPEAKERS),
    )


def _tell(story: Story, random: Random) -> str:
    lead = random.choice(LEADS)
    parts = {
        **story._asdict(),
        "agent": f"{story.kind.article.lower()} {story.agent_trait} {story.agent}",
        "objects": f"{story.number} {story.object_trait} {story.objects}",
        "other_day": random.choice([day for day in DAYS if day != story.day]),
        "other_place": random.choice([place for place in PLACES if place != story.place]),
        "other_number": random.choice([number for number in NUMBERS if number != story.number]),
    }
    sentences = [lead, *random.sample(FOLLOW_UPS, random.choice((0, 0, 1, 2)))]
    return " ".join(_capitalised(sentence.format(**parts)) for sentence in sentences)


def _cores(story: Story) -> list[str]:
    agents = [story.agent, f"{story.agent_trait} {story.agent}"]
    traits = [f"{story.object_trait} {story.objects}", story.objects]
    objects = [*traits, *(f"{story.number} {words}" for words in traits)]
    clauses = [f"{agent} {story.verb} {words}" for agent, words in product(agents, objects)]
    topics = agents if story.kind.topic == "agent" else objects
    return [*clauses, *(f"{core} in {story.place}" for core in [*topics, *clauses])]


def _tails(story: Story) -> list[str]:
    slots = [
        ["", " too"],
        ["", f" {story.extra}"],
        ["", f" {story.day}", f" on {story.day}", f" {story.hour}", f" on {story.day} {story.hour}"],
        ["", f", {story.consequence}", f" as {story.consequence}"],
        ["", f", {story.speaker} say"],
    ]
    return ["".join(parts) for parts in product(*slots)]


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]
