"""The same nodes as in tests/cluster, for tests that take minutes."""

from __future__ import annotations

from cluster.conftest import lab, make_cluster, pytest_collection_modifyitems, warm_packages

__all__ = ["lab", "make_cluster", "pytest_collection_modifyitems", "warm_packages"]
