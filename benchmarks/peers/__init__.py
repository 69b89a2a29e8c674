"""Other engines, given the weights of our models."""
