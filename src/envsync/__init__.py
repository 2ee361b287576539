"""One conda environment, identical on every node of a PyTorch cluster, and proved to be."""

__version__ = "0.1.0"
