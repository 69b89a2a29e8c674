"""The names of what goes into the two graphs of an exported model and comes out. Needs no PyTorch.

One graph reads sources and begins a search; the other writes one token more of every hypothesis.
"""

from copyfit.generation.layout import Layout

RULES = tuple(f"rules.{name}" for name in Layout._fields)
SOURCE, SOURCE_LENGTHS, BUDGET = "source", "source_lengths", "budget"
BEAMS, FINISHED = "beams.", "finished."
MEMORY, CACHE = "memory.", "beams.cache."
"""How the names of the tensors of both begin; a number follows."""
NEXT = "next."
"""How the names begin of what the second graph makes of the tensors that are named behind it."""
DONE = "finished.done"
FOUND = ("finished.tokens", "finished.score", "finished.spent", "finished.rank")
