"""Files to batches. Never sees a model."""
