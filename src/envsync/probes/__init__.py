"""Probes: read-only scripts that report facts about a prefix, and the parsers of their answers."""
