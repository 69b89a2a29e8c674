"""Sentences end where a reader says they do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.text.sentences import first_sentence, japanese_sentences, released_sentences


@pytest.mark.parametrize(
    ("sentence", "rest"),
    [
        ("The ferry sank.", " Nobody was hurt."),
        ("Did it sink?", " Yes."),
        ("It sank!", ' "Terrible," he said.'),
        ('"It sank."', " He had seen it."),
        ("``It sank.''", " He had seen it."),
        ("It sank (in the bay.)", " (He saw it.)"),
        ("It sank...", " Then came the storm."),
        ("It cost 3.5 million.", " 20 men left."),
        (
            "The U.S. House met Mr. Adams and Sen. J. P. Holm of Bath, Mass. Monday at 3 p.m. Eastern time.",
            " No.",
        ),
        ("He left the U.S.", " The ferry followed."),
        ("It was bought by Holm Bros.", " He had sold it."),
        ("Holm Inc. Chairman Ada Lund said no.", " Then she left."),
        ("The men vs. Holm, No. 3 on the list, e.g. the Oct. Fair.", ' "Well," he said.'),
        ("It was I.", " He left."),
        ("the file is at holm.example now. so it goes", ""),
        ("No end at all", ""),
        ("The end.", ""),
        ("", ""),
    ],
)
def test_the_first_english_sentence_ends_where_it_should(sentence: str, rest: str) -> None:
    assert first_sentence(sentence + rest) == sentence


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("船が沈んだ。けが人はない。", ["船が沈んだ。", "けが人はない。"]),
        ("船が沈んだ。けが人は", ["船が沈んだ。", "けが人は"]),
        ("彼は「沈んだ。残念だ。」と話した。次。", ["彼は「沈んだ。残念だ。」と話した。", "次。"]),
        ("港（北の港。南ではない。）は閉じた。次。", ["港（北の港。南ではない。）は閉じた。", "次。"]),
        ("「沈んだ。」。次。", ["「沈んだ。」。", "次。"]),
        ("港（北。）は。町（南。）は。次。", ["港（北。）は。", "町（南。）は。", "次。"]),
        ("「船（大。）が「沈。」と。」終。次。", ["「船（大。）が「沈。」と。」終。", "次。"]),
        ("「船が。沈んだ。次。", ["「船が。", "沈んだ。", "次。"]),
        ("船が」。沈んだ）。次（。", ["船が」。", "沈んだ）。", "次（。"]),
        ("「船（が。」沈んだ。次。", ["「船（が。」沈んだ。", "次。"]),
        ("沈んだ。。", ["沈んだ。", "。"]),
        ("『沈。』次。", ["『沈。", "』次。"]),
        ("", []),
    ],
)
def test_a_japanese_sentence_does_not_end_inside_brackets(text: str, sentences: list[str]) -> None:
    assert japanese_sentences(text) == sentences


@given(st.text("船。「」（）"))
def test_japanese_sentences_end_to_end_are_the_text(text: str) -> None:
    sentences = japanese_sentences(text)
    assert "".join(sentences) == text
    assert all(sentence.endswith("。") for sentence in sentences[:-1])


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("彼は「沈んだ。残念だ。」と話した。次。", ["彼は「沈んだ。残念だ。」と話した。", "次。"]),
        # What the script does beside the rule.
        ("「沈んだ。」。次。", ["「沈んだ。」次。"]),
        ("港（北。）は。町（南。）は。次。", ["港（北。）は。町（南。）は。", "次。"]),
        ("「船が。沈んだ。。", ["「船が。", "沈んだ。"]),
        ("沈んだ", ["沈んだ"]),
    ],
)
def test_the_released_script_joins_more_than_the_rule_does(text: str, sentences: list[str]) -> None:
    assert released_sentences(text) == sentences
