"""What both sides ask of a tokenizers file: three reserved ids, and nothing that is special inside a text."""

import json

from tokenizers import Tokenizer

from copyfit.errors import CheckpointError

RESERVED = ("⟨padding⟩", "⟨start⟩", "⟨end⟩")
"""The names of the ids 0, 1 and 2. No model in use can build them from a text, whatever is in it."""


def write_tokenizer(tokenizer: Tokenizer) -> str:
    """Write a tokenizers file whose reserved names are out of reach of any text."""
    content = json.loads(tokenizer.to_str())
    return json.dumps({**content, "added_tokens": []}, ensure_ascii=False)


def open_tokenizer(content: str) -> Tokenizer:
    """Read a tokenizers file, or say why it is none of copyfit's."""
    try:
        tokenizer = Tokenizer.from_str(content)
    except Exception as problem:  # the library raises nothing narrower
        raise CheckpointError(f"must be a tokenizers JSON file: {problem}") from problem
    named = tuple(tokenizer.id_to_token(token) for token in range(len(RESERVED)))
    if named != RESERVED or tokenizer.get_added_tokens_decoder():
        raise CheckpointError(
            f"must begin with {', '.join(RESERVED)} and add no tokens, given {named}; write it with copyfit"
        )
    return tokenizer
