"""The two graphs of an exported model, and the names of what goes in and comes out. Needs no PyTorch."""

from copyfit.generation.layout import Layout

START, ADVANCE = "start.onnx", "advance.onnx"
"""`start` reads sources and begins a search; `advance` writes one token more of every hypothesis."""
RULES = tuple(f"rules.{name}" for name in Layout._fields)
SOURCE, SOURCE_LENGTHS, BUDGET = "source", "source_lengths", "budget"
BEAMS, FINISHED = "beams.", "finished."
MEMORY, CACHE = "memory.", "beams.cache."
"""How the names of the tensors of both begin; a number follows."""
NEXT = "next."
"""How the names begin of what `advance` makes out of the tensors that are named behind it."""
DONE = "finished.done"
FOUND = ("finished.tokens", "finished.score", "finished.spent", "finished.rank")
