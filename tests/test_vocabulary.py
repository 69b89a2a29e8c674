"""Target texts and their pieces: exact both ways, in every segmentation, and costs that add up."""

import json
import unicodedata
from collections import Counter
from itertools import islice, pairwise
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from copyfit.config import check
from copyfit.errors import CheckpointError, DataError
from copyfit.examples import generate
from copyfit.text.alphabet import Alphabet
from copyfit.text.graphemes import is_solid
from copyfit.text.normal import normalise
from copyfit.text.subwords import LONGEST_PIECE
from copyfit.text.units import UNITS, count
from copyfit.text.vocabulary import TargetSection, TargetVocabulary
from support_text import RAW_TEXTS, SOLID_ZOO, gsm_septets, segment

FLAGS = ["🇦🇧", "🇧🇨", "🇨🇩", "🇧🇧"]
CLUSTERS = [*SOLID_ZOO, *FLAGS, "❤", "👨", "👩"]
SENTENCES = [
    "Mayor's 2031 plan: 3 new ferries (maybe)",
    "東京の港で船が直される、カレーは大盛り",
    "क्षमा नमस्ते क्षण",
    "ที่นี่ กินข้าว",
]
TEXTS = [
    *(normalise(target) for _, target in islice(generate(seed=5), 1_500)),
    *SENTENCES * 5,
    *[" ".join(CLUSTERS), "".join(CLUSTERS)] * 3,
    "rare ✂",
]


def train(kind: str, size: int = 1_000, minimum: int = 5) -> TargetVocabulary:
    section = check({"kind": kind, "size": size, "minimum": minimum}, TargetSection, where="here")
    return TargetVocabulary.train(TEXTS, section)


CHARACTERS, SUBWORDS = train("character"), train("subword")
both_kinds = pytest.mark.parametrize("vocabulary", [CHARACTERS, SUBWORDS], ids=["character", "subword"])
ATOMS = sorted(atom for atom in CHARACTERS.pieces if atom != " ")
WORD = st.one_of(
    st.lists(st.sampled_from(ATOMS), min_size=1, max_size=6).map("".join),
    st.lists(st.sampled_from(FLAGS), min_size=1, max_size=6).map("".join),
    st.sampled_from(" ".join(TEXTS[:200] + SENTENCES).split()),
)
KNOWN_TEXTS = st.lists(WORD, max_size=5).map(lambda words: normalise(" ".join(words)))
DROPOUTS = st.sampled_from([0.05, 0.5, 1.0])
SEEDS = st.integers(0, 2**32)


def known(ids: list[int] | None) -> list[int]:
    assert ids is not None
    return ids


def sample(vocabulary: TargetVocabulary, text: str, dropout: float, seed: int) -> list[int]:
    return known(vocabulary.encode_batch([text], dropout=dropout, seed=seed)[0])


@both_kinds
@given(text=KNOWN_TEXTS)
def test_decoding_gives_back_the_text(vocabulary: TargetVocabulary, text: str) -> None:
    assert vocabulary.decode(vocabulary.encode(text)) == text


@both_kinds
@given(text=KNOWN_TEXTS, dropout=DROPOUTS, seed=SEEDS)
def test_decoding_a_sampled_segmentation_gives_back_the_text(
    vocabulary: TargetVocabulary, text: str, dropout: float, seed: int
) -> None:
    assert vocabulary.decode(sample(vocabulary, text, dropout, seed)) == text


@both_kinds
@given(texts=st.lists(st.one_of(KNOWN_TEXTS, RAW_TEXTS.map(normalise), st.sampled_from(TEXTS)), max_size=4))
def test_the_file_alone_gives_the_same_ids(vocabulary: TargetVocabulary, texts: list[str]) -> None:
    reader = Tokenizer.from_str(vocabulary.to_json())
    read = [reader.encode(text).ids for text in texts]
    assert vocabulary.encode_batch(texts) == [None if 0 in ids else ids for ids in read]


@both_kinds
@given(text=KNOWN_TEXTS)
def test_the_file_alone_decodes_too(vocabulary: TargetVocabulary, text: str) -> None:
    reader = Tokenizer.from_str(vocabulary.to_json())
    assert reader.decode(vocabulary.encode(text)) == text


@both_kinds
@given(text=st.one_of(RAW_TEXTS.map(normalise), KNOWN_TEXTS))
def test_a_text_is_encoded_if_and_only_if_its_clusters_are_pieces(
    vocabulary: TargetVocabulary, text: str
) -> None:
    inside = set(segment(text)) <= set(vocabulary.pieces)
    assert (vocabulary.encode_batch([text])[0] is not None) == inside


@both_kinds
def test_every_frequent_solid_cluster_is_a_token_of_its_own(vocabulary: TargetVocabulary) -> None:
    counts = Counter(cluster for text in TEXTS for cluster in segment(text))
    frequent = {cluster for cluster, number in counts.items() if number >= 5 and is_solid(cluster)}
    assert frequent <= set(vocabulary.pieces)
    assert {piece for piece in vocabulary.pieces if len(segment(piece)) == 1} == frequent


@both_kinds
def test_a_cluster_outside_makes_none_or_an_error_that_names_it(vocabulary: TargetVocabulary) -> None:
    assert vocabulary.encode_batch(["a ✂", "a"]) == [None, vocabulary.encode("a")]
    assert vocabulary.encode_batch(["a ✂", "a"], dropout=0.5)[0] is None
    with pytest.raises(DataError, match="'✂', '🇩🇪' are not"):
        vocabulary.encode("a 🇩🇪 ✂ b")


@both_kinds
def test_private_characters_in_a_text_are_not_taken_for_codes(vocabulary: TargetVocabulary) -> None:
    codes = list(Alphabet(vocabulary.pieces).codes.values())
    assert codes
    assert vocabulary.encode_batch(codes) == [None] * len(codes)


@both_kinds
def test_an_empty_text_has_no_ids(vocabulary: TargetVocabulary) -> None:
    assert vocabulary.encode("") == []
    assert vocabulary.encode_batch([""], dropout=0.5) == [[]]
    assert vocabulary.decode([]) == ""


@both_kinds
def test_decoding_leaves_out_padding_start_and_end(vocabulary: TargetVocabulary) -> None:
    assert vocabulary.decode([1, *vocabulary.encode("new ferries"), 2, 0]) == "new ferries"


def test_pieces_stay_within_a_word_and_one_kind_of_sign() -> None:
    assert any(len(piece) > 3 for piece in SUBWORDS.pieces)
    for piece in SUBWORDS.pieces:
        kinds = {unicodedata.category(cluster[0])[0] for cluster in segment(piece.removeprefix(" "))}
        kinds = {"L" if kind == "M" else kind if kind in "LN" else "S" for kind in kinds}
        assert " " not in piece[1:]
        assert len(kinds) <= 1
        assert len(segment(piece)) <= LONGEST_PIECE


def test_frequent_words_are_one_piece_with_their_space() -> None:
    assert [SUBWORDS.pieces[token - 3] for token in SUBWORDS.encode("bank plans")] == [" bank", " plans"]
    assert any(len(segment(piece)) > 1 and not piece.isascii() for piece in SUBWORDS.pieces)


@given(texts=st.lists(KNOWN_TEXTS, max_size=5))
def test_without_dropout_the_segmentation_is_the_canonical_one(texts: list[str]) -> None:
    canonical = [SUBWORDS.encode(text) for text in texts]
    assert SUBWORDS.encode_batch(texts, dropout=0.0, seed=9) == canonical


@given(texts=st.lists(KNOWN_TEXTS, max_size=5), seed=SEEDS)
def test_without_any_merge_every_cluster_is_a_token(texts: list[str], seed: int) -> None:
    sampled = SUBWORDS.encode_batch(texts, dropout=1.0, seed=seed)
    for text, ids in zip(texts, sampled, strict=True):
        assert [SUBWORDS.pieces[token - 3] for token in known(ids)] == segment(" " + text if text else "")


@given(texts=st.lists(KNOWN_TEXTS, max_size=5), dropout=DROPOUTS, seed=SEEDS)
def test_a_seed_gives_the_same_samples_in_any_process(texts: list[str], dropout: float, seed: int) -> None:
    expected = SUBWORDS.encode_batch(texts, dropout=dropout, seed=seed)
    assert FRESH.encode_batch(texts, dropout=dropout, seed=seed) == expected


FRESH = TargetVocabulary.from_json(SUBWORDS.to_json())


def test_seeds_give_different_samples() -> None:
    samples = [SUBWORDS.encode_batch(TEXTS[:50], dropout=0.1, seed=seed) for seed in range(3)]
    assert all(one != other for one, other in pairwise(samples))


def test_more_dropout_gives_more_tokens() -> None:
    lengths = [
        sum(len(known(ids)) for ids in SUBWORDS.encode_batch(TEXTS[:300], dropout=dropout, seed=1))
        for dropout in (0.0, 0.05, 0.3, 1.0)
    ]
    assert lengths == sorted(set(lengths))


def test_sampled_segmentations_keep_every_single_character_in_use() -> None:
    texts = [*TEXTS[:200], *SENTENCES, " ".join(CLUSTERS)]
    occurring = {cluster for text in texts for cluster in segment(text)}
    single = {token for token, piece in enumerate(SUBWORDS.pieces, 3) if piece in occurring}
    canonical = {token for text in texts for token in SUBWORDS.encode(text)}
    sampled = SUBWORDS.encode_batch(texts * 100, dropout=0.05, seed=0)
    used = {token for ids in sampled for token in known(ids)}
    assert not single <= canonical
    assert single <= used


def test_characters_have_one_segmentation() -> None:
    assert CHARACTERS.encode_batch(TEXTS[:20], dropout=0.5) == CHARACTERS.encode_batch(TEXTS[:20])


@both_kinds
@given(text=KNOWN_TEXTS.filter(bool), dropout=DROPOUTS, seed=SEEDS)
def test_costs_add_up_to_the_count_of_the_text_in_every_unit(
    vocabulary: TargetVocabulary, text: str, dropout: float, seed: int
) -> None:
    segmentations = vocabulary.encode(text), sample(vocabulary, text, dropout, seed)
    for unit in UNITS:
        ucs2 = unit == "gsm7" and gsm_septets(text) is None
        automaton = AUTOMATA[vocabulary.prefixed, unit, ucs2]
        assert {automaton.spend(ids)[-1] for ids in segmentations} == {count(text, unit)}


AUTOMATA = {
    (vocabulary.prefixed, unit, ucs2): vocabulary.automaton(unit, ucs2=ucs2)
    for vocabulary in (CHARACTERS, SUBWORDS)
    for unit in UNITS
    for ucs2 in (False, True)
}


def roll(vocabulary: TargetVocabulary, ids: list[int]) -> int:
    """Hash by whole numbers of Python instead of wrapping int64."""
    value = 0
    for multiplier, addend in vocabulary.rolling_hash()[ids].tolist():
        value = (value * multiplier + addend) % 2**64
    return value


@both_kinds
@given(text=KNOWN_TEXTS, dropout=DROPOUTS, seed=SEEDS)
def test_two_segmentations_of_a_text_have_one_hash(
    vocabulary: TargetVocabulary, text: str, dropout: float, seed: int
) -> None:
    sampled = sample(vocabulary, text, dropout, seed)
    assert roll(vocabulary, sampled) == roll(vocabulary, vocabulary.encode(text))


@both_kinds
def test_different_texts_have_different_hashes(vocabulary: TargetVocabulary) -> None:
    texts = {text[:end] for text in TEXTS[:300] for end in range(1, len(text))} | set(ATOMS)
    texts |= {left + right for left in ATOMS for right in ATOMS}
    table, ids = vocabulary.rolling_hash(), [vocabulary.encode(text) for text in sorted(texts)]
    hashes = np.zeros(len(ids), dtype=np.int64)
    for place in range(max(map(len, ids))):
        reached = [row for row, one in enumerate(ids) if len(one) > place]
        step = table[[ids[row][place] for row in reached]]
        hashes[reached] = hashes[reached] * step[:, 0] + step[:, 1]
    assert len(set(hashes.tolist())) == len(texts) > 20_000


@both_kinds
def test_tokens_that_are_no_text_leave_the_hash_alone(vocabulary: TargetVocabulary) -> None:
    table = vocabulary.rolling_hash()
    assert table.shape == (vocabulary.size, 2)
    assert table.dtype == np.int64
    assert table[:3].tolist() == [[1, 0]] * 3


@both_kinds
def test_writing_and_reading_gives_the_same_vocabulary(vocabulary: TargetVocabulary) -> None:
    again = TargetVocabulary.from_json(vocabulary.to_json())
    assert again.to_json() == vocabulary.to_json()
    assert (again.pieces, again.prefixed, again.size) == (
        vocabulary.pieces,
        vocabulary.prefixed,
        vocabulary.size,
    )
    assert again.encode_batch(TEXTS) == vocabulary.encode_batch(TEXTS)


@both_kinds
def test_it_can_be_sent_to_another_process(vocabulary: TargetVocabulary) -> None:
    again = ForkingPickler.loads(ForkingPickler.dumps(vocabulary))
    assert again.encode_batch(TEXTS) == vocabulary.encode_batch(TEXTS)


@pytest.mark.parametrize("kind", ["character", "subword"])
def test_training_is_deterministic(kind: str) -> None:
    first, *others = [train(kind, size=600).to_json() for _ in range(3)]
    assert others == [first, first]


@pytest.mark.parametrize("kind", ["character", "subword"])
def test_a_small_size_keeps_the_most_frequent_clusters(kind: str) -> None:
    vocabulary = train(kind, size=20)
    assert vocabulary.size == 20
    assert {" ", "e", "s", "a"} <= set(vocabulary.pieces)


@pytest.mark.parametrize("kind", ["character", "subword"])
def test_a_vocabulary_without_clusters_of_several_code_points_is_written_too(kind: str) -> None:
    section = check({"kind": kind, "minimum": 1}, TargetSection, where="here")
    vocabulary = TargetVocabulary.train(["new plan", "new port"], section)
    reader = Tokenizer.from_str(vocabulary.to_json())
    ids = vocabulary.encode("port now")
    assert reader.encode("port now").ids == ids
    assert reader.decode(ids) == "port now"
    assert TargetVocabulary.from_json(vocabulary.to_json()).pieces == vocabulary.pieces


def test_a_subword_vocabulary_can_always_write_a_space() -> None:
    section = TargetSection(kind="subword", size=20, minimum=1)
    vocabulary = TargetVocabulary.train(["港", "船"], section)
    assert vocabulary.decode(vocabulary.encode("港 船")) == "港 船"
    assert vocabulary.automaton("char").spend(vocabulary.encode("港 船"))[-1] == 3


def test_the_minimum_is_how_often_a_cluster_must_occur() -> None:
    assert "✂" not in CHARACTERS.pieces
    assert "✂" in train("character", minimum=1).pieces


@pytest.mark.parametrize("texts", [[], ["ab", "cd"], ["\u0301\u200d"] * 9], ids=["none", "rare", "unseen"])
def test_texts_without_a_frequent_character_are_refused(texts: list[str]) -> None:
    with pytest.raises(DataError, match="character that occurs 5 times"):
        TargetVocabulary.train(texts, TargetSection())


def changed(**parts: Any) -> str:
    return json.dumps(json.loads(SUBWORDS.to_json()) | parts)


@pytest.mark.parametrize(
    "content",
    [
        "",
        changed(decoder=None),
        changed(decoder={"type": "Fuse"}),
        changed(model={"type": "WordLevel", "vocab": {"a": 0, "b": 1, "c": 2}, "unk_token": "a"}),
    ],
    ids=["empty", "no decoder", "another decoder", "nothing reserved"],
)
def test_files_of_others_are_refused_in_one_line(content: str) -> None:
    with pytest.raises(CheckpointError, match=r"^must ") as caught:
        TargetVocabulary.from_json(content)
    assert "\n" not in str(caught.value)
