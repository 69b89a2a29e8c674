"""Headlines over HTTP, and the page that shows them. Needs no PyTorch."""
