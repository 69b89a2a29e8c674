"""The laboratory: matrices of systems, seeds and tests become records, tables and figures."""
