"""Speed and memory, measured as ratios within one run and kept as records."""
