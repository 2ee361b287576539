"""The same small work on 16, 64 and 256 loopback nodes: envsync's transport against its peers.

A contender's start is measured with an empty list of nodes and taken off. Exit code 1 when
envsync is above 1.15 times a bare, tuned paramiko loop, behind any peer, or takes longer for a
node among many nodes than among few; on the most nodes the start counts as well.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from peers.contenders import Contender, contenders, environment
from peers.farm import Farm, farm
from peers.install import Tools, install
from peers.measure import Run, measure
from peers.tables import START, Result, table, verdict

ROUNDS = 3


def main() -> int:
    """Measure, print, judge."""
    options = _options()
    sizes = sorted(options.nodes)
    tools = install()
    everyone = contenders(tools)
    if unknown := set(options.only) - {each.name for each in everyone}:
        known = ", ".join(each.name for each in everyone)
        raise SystemExit(f"no contender {', '.join(sorted(unknown))}; there are: {known}")
    everyone = [each for each in everyone if each.name in (options.only or [each.name])]
    for name, why in tools.absent.items():
        print(f"{name}: {why}", flush=True)
    results: dict[str, dict[int, Result | str]] = {each.name: {} for each in everyone}
    busy = os.getloadavg()[1]
    with farm(max(sizes)) as whole:
        for count in (START, *sizes):
            for name, result in _compare(everyone, whole.first(count), tools, options.rounds):
                results[name][count] = result
            if done := [size for size in sizes if size <= count]:
                print(f"\n{table(everyone, results, done)}\n", flush=True)
    text = table(everyone, results, sizes) + "\n\n" + _circumstances(tools, options.rounds, busy)
    print(text.rpartition("\n\n")[2])
    if options.markdown:
        options.markdown.write_text(text + "\n")
    faults = verdict(results, sizes)
    faults += [
        f"{count} nodes: {name} {result}"
        for name, row in results.items()
        for count, result in row.items()
        if isinstance(result, str) and result.startswith("failed")
    ]
    print("\n".join(faults) or "envsync is ahead of its peers and near the bare loop")
    return 1 if faults else 0


def _circumstances(tools: Tools, rounds: int, busy: float) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in sorted(tools.versions.items()))
    return (
        f"Medians of {rounds} rounds on {os.cpu_count()} cores, on which the nodes ran as well;"
        f" load before the run {busy:.1f}. {versions}."
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = "numbers of nodes, with commas between"
    parser.add_argument("--nodes", type=_numbers, default=[16, 64, 256], help=sizes)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="runs of which to take medians")
    names = "contenders by their names in the table, with commas between"
    parser.add_argument("--only", type=_names, default=[], metavar="NAME,...", help=names)
    file = "put the table there as well"
    parser.add_argument("--markdown", type=Path, metavar="FILE", help=file)
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _names(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _compare(
    everyone: Sequence[Contender], some: Farm, tools: Tools, rounds: int
) -> list[tuple[str, Result | str]]:
    """One round that is not timed, for memory and to warm up; then by turns.

    So that a busy moment of the machine meets all, every round starts with another contender.
    """
    some.write()
    runs: dict[str, list[Run]] = {each.name: [] for each in everyone}
    peaks: dict[str, int] = {}
    wrong: dict[str, str] = {}
    for number in range(rounds + 1):
        for each in _turned(everyone, number):
            if each.needs in tools.absent:
                wrong[each.name] = f"not here: {tools.absent[each.needs]}"
            if each.name in wrong:
                continue
            words, env = each.words(some), environment(each, some)
            run = measure(words, env, some.folder, memory=not number)
            # Some tools refuse an empty list: their start is over by then.
            code = f"exit code {run.code}" if run.code and some.addresses else ""
            fault = some.verify(run.output) or code
            if fault:
                wrong[each.name] = f"failed: {fault}"
                print(f"{each.name}: {fault}\n{run.output[-2000:]}", file=sys.stderr, flush=True)
            elif number:
                runs[each.name].append(run)
            else:
                peaks[each.name] = run.peak
            print(f"{len(some.addresses)} nodes, {each.name}: {run.wall:.2f} s", flush=True)
    return [
        (name, wrong.get(name) or Result(len(some.addresses), tuple(done), peaks[name]))
        for name, done in runs.items()
    ]


def _turned(everyone: Sequence[Contender], number: int) -> list[Contender]:
    start = number % len(everyone)
    return [*everyone[start:], *everyone[:start]]


if __name__ == "__main__":
    sys.exit(main())
