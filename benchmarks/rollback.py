"""A rollback of eight nodes, against a push of what they would go back to."""

from __future__ import annotations

import sys

from bench import cluster, seconds

LIMIT = 2.0
"""Seconds for the whole command."""


def main() -> int:
    """Push twice, go back; no conda may start, and all links must have moved."""
    with cluster(8) as lab:
        for version in ("1.25", "1.26"):
            lab.write_environment(f"numlike={version}")
            done = lab.run("push", "hosts.txt", "--timeout", "600")
            if done.code:
                print(done.out, done.err)
                return 1
        before = [(node.envs / "train").readlink() for node in lab.nodes]
        starts = [len(node.conda_starts) for node in lab.nodes]
        took = seconds(lambda: lab.run("rollback"))
        moved = all(
            (node.envs / "train").readlink() != link
            for node, link in zip(lab.nodes, before, strict=True)
        )
        quiet = starts == [len(node.conda_starts) for node in lab.nodes]
        print(f"rollback of 8 nodes: {took:.2f} s (at most {LIMIT}); no conda started: {quiet}")
        return 0 if took <= LIMIT and moved and quiet else 1


if __name__ == "__main__":
    sys.exit(main())
