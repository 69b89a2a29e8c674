"""Engines: they run a model for the search."""
