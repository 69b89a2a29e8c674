"""The names of what goes into the two graphs of an exported model and comes out. Needs no PyTorch.

One graph reads sources and begins a search; the other writes one token more of every hypothesis.
"""

from copyfit.generation.layout import OF_ROWS, Layout, Reading

RULES = tuple(f"rules.{name}" for name in Layout._fields)
SHARED = frozenset({*RULES, "beams.step"} - {f"rules.{name}" for name in OF_ROWS})
"""What all rows of a batch have in common; everything else has rows first."""
SOURCES = tuple(f"source.{name}" for name in Reading._fields)
BEAMS, FINISHED = "beams.", "finished."
MEMORY, STATE, HISTORY = "memory.", "beams.state.", "history."
"""How the names of the tensors of each begin; a number follows."""
NEXT, ENTRY = "next.", "entry."
"""How the names begin of what the second graph makes of what is named behind it: its next value, or what is
added to it in this step, in the place of the axis of steps."""
DONE = "finished.done"
FOUND = ("finished.tokens", "finished.score", "finished.spent", "finished.rank")
