"""Corpora as their owners ship them, turned into the plain files that everything else reads."""
