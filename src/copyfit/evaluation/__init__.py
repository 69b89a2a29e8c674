"""How good and how exact headlines are."""
