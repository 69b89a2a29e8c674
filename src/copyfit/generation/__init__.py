"""The search for token sequences that keep to a budget."""
