"""Source texts and their subwords: any text goes in, the same text comes out, nothing in it is special."""

import json
from itertools import islice
from multiprocessing.reduction import ForkingPickler

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models

from copyfit.config import check
from copyfit.errors import CheckpointError, ConfigError
from copyfit.examples import generate
from copyfit.text.normal import normalise
from copyfit.text.tokenizer import SourceSection, SourceTokenizer
from copyfit.text.word_cache import LONGEST_WORD, WordCache
from support_text import RAW_TEXTS

TEXTS = [source for source, _ in islice(generate(seed=3), 400)] + [
    "The mayor's 3 ferries don't sail in 2031.",
    "東京の港で古い船が直されている。カレーは大盛りです。",
    "Владелец порта купил 12 паромов",
]
BPE = SourceTokenizer.train(TEXTS, SourceSection(kind="bpe", size=900))
UNIGRAM = SourceTokenizer.train(TEXTS, SourceSection(kind="unigram", size=600))
both_kinds = pytest.mark.parametrize("tokenizer", [BPE, UNIGRAM], ids=["bpe", "unigram"])
NO_SURROGATES = st.characters(exclude_categories=["Cs"])
ANY_TEXT = st.one_of(st.text(NO_SURROGATES), RAW_TEXTS.map(normalise))
LITERALS = (
    "</s>",
    "<s> a </s>",
    "@@@@ b@@ c",
    "⟨padding⟩ ⟨start⟩⟨end⟩",
    "a\x00b\x1f",
    "שלום עולם",
    "a \u202eb\u202c",
    "👩\u200d🚀 lands",
    "Ġ Ċ ▁",
    "\ufeff\U0010fffd\ue000",
)


@both_kinds
@given(text=ANY_TEXT)
def test_decoding_gives_back_any_text(tokenizer: SourceTokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text)) == text


@both_kinds
@given(texts=st.lists(st.one_of(ANY_TEXT, st.sampled_from(TEXTS), st.sampled_from(LITERALS)), max_size=4))
def test_the_file_alone_gives_the_same_ids(tokenizer: SourceTokenizer, texts: list[str]) -> None:
    reader = Tokenizer.from_str(tokenizer.to_json())
    assert tokenizer.encode_batch(texts) == [reader.encode(text).ids for text in texts]


@both_kinds
@given(words=st.lists(st.text(NO_SURROGATES.filter(" ".__ne__), min_size=1)))
def test_the_ids_of_a_text_are_those_of_its_words(tokenizer: SourceTokenizer, words: list[str]) -> None:
    ids = [token for word in words for token in tokenizer.encode(word)]
    assert tokenizer.encode(" ".join(words)) == ids


@both_kinds
@pytest.mark.parametrize("text", LITERALS)
def test_what_looks_like_a_special_token_is_just_text(tokenizer: SourceTokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert min(ids) >= 3
    assert tokenizer.decode(ids) == text


@both_kinds
def test_decoding_leaves_out_padding_start_and_end(tokenizer: SourceTokenizer) -> None:
    assert tokenizer.decode([1, *tokenizer.encode("a ferry"), 2, 0, 0]) == "a ferry"


@both_kinds
def test_an_empty_text_has_no_ids(tokenizer: SourceTokenizer) -> None:
    assert tokenizer.encode("") == []
    assert tokenizer.decode([]) == ""


@both_kinds
def test_ids_are_below_the_size(tokenizer: SourceTokenizer) -> None:
    ids = {token for text in TEXTS for token in tokenizer.encode(text)}
    assert 3 <= min(ids) <= max(ids) < tokenizer.size
    assert tokenizer.size == Tokenizer.from_str(tokenizer.to_json()).get_vocab_size()


def test_frequent_words_are_one_piece() -> None:
    assert len(BPE.encode("The mayor plans")) == 3


@both_kinds
def test_ids_are_fewer_than_bytes(tokenizer: SourceTokenizer) -> None:
    for text in TEXTS:
        assert len(tokenizer.encode(text)) < len(text.encode())


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_training_is_deterministic(kind: str) -> None:
    section = check({"kind": kind, "size": 500}, SourceSection, where="here")
    first, *others = [SourceTokenizer.train(TEXTS, section).to_json() for _ in range(3)]
    assert others == [first, first]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_size_is_the_most_tokens(kind: str) -> None:
    section = check({"kind": kind, "size": 400}, SourceSection, where="here")
    assert SourceTokenizer.train(TEXTS, section).size == 400
    assert 259 <= SourceTokenizer.train(["a ferry sails"], section).size < 400


@both_kinds
def test_writing_and_reading_gives_the_same_tokenizer(tokenizer: SourceTokenizer) -> None:
    again = SourceTokenizer.from_json(tokenizer.to_json())
    assert again.to_json() == tokenizer.to_json()
    assert again.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS)


@both_kinds
def test_it_can_be_sent_to_another_process(tokenizer: SourceTokenizer) -> None:
    again = ForkingPickler.loads(ForkingPickler.dumps(tokenizer))
    assert again.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS)


def test_no_piece_crosses_a_space_or_the_border_of_a_script() -> None:
    pieces = [BPE.decode([token]) for token in range(3, BPE.size)]
    assert not any(" " in piece.strip(" ") for piece in pieces)
    assert len(BPE.encode("2031東京です")) >= 3
    assert not any(any(c.isdigit() for c in piece) and any(c.isalpha() for c in piece) for piece in pieces)


def added(content: str) -> str:
    tokenizer = Tokenizer.from_str(content)
    tokenizer.add_tokens([AddedToken("</s>")])
    return tokenizer.to_str()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "no JSON",
        json.dumps({"model": {}}),
        Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a")).to_str(),
        added(BPE.to_json()),
    ],
    ids=["empty", "no JSON", "no model", "nothing reserved", "added tokens"],
)
def test_files_of_others_are_refused_in_one_line(content: str) -> None:
    with pytest.raises(CheckpointError, match=r"^must ") as caught:
        SourceTokenizer.from_json(content)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [299, 65_536])
def test_sizes_that_bytes_or_the_store_have_no_room_for_are_refused(size: int) -> None:
    with pytest.raises(ConfigError, match="size"):
        check({"size": size}, SourceSection, where="recipe.toml")


def test_a_full_word_cache_still_answers() -> None:
    asked: list[str] = []

    def measure(word: str) -> int:
        asked.append(word)
        return len(word)

    cache = WordCache(measure, room=2)
    words = ["a", "bb", "ccc", "a", "bb", "ccc"]
    assert [cache[word] for word in words] == [1, 2, 3, 1, 2, 3]
    assert asked == ["a", "bb", "ccc", "ccc"]


def test_a_word_cache_keeps_no_long_words() -> None:
    cache = WordCache(len, room=2)
    assert cache["x" * LONGEST_WORD + "x"] == LONGEST_WORD + 1
    assert not cache
