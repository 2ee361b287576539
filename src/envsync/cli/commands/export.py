"""envsync export."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from envsync.cli.bundles import Where
from envsync.cli.session import Session
from envsync.cli.target import find_target
from envsync.errors import ExitCode, InputError
from envsync.export import read_reference
from envsync.hostnames import resolve
from envsync.model import Notice
from envsync.portable import Portable, explicit, portable
from envsync.reference import Reference
from envsync.render import ends, envelope, reading
from envsync.render.console import console


@dataclass(frozen=True)
class Form:
    """What the export is to look like, and where it goes."""

    builds: bool
    from_history: bool
    explicit: bool
    output: Path | None
    force: bool

    def check(self) -> None:
        """Raises InputError for options that exclude each other, and for a file in the way."""
        if self.explicit + self.from_history + self.builds > 1:
            raise InputError(
                "--builds, --from-history and --explicit exclude each other", hint="choose one"
            )
        if self.output and self.output.exists() and not self.force:
            raise InputError(
                "it is there already", file=str(self.output), hint="--force writes over it"
            )

    def make(self, reference: Reference) -> Portable:
        if self.explicit:
            return explicit(reference)
        return portable(reference, builds=self.builds, from_history=self.from_history)


def export(host: str, where: Where, form: Form, *, as_json: bool) -> int:
    """Read the environment of one host, and print or write it as a file for others."""
    form.check()
    target = find_target(where)
    chosen = resolve(target.hosts, host)
    session = Session("export", [chosen], target.connecting, target.store, as_json=as_json)
    to = console(stderr=True)  # standard output has the file alone
    with session:
        reference = read_reference(session.fleet, chosen, target.name, where.prefix)
    made = form.make(reference) if reference else None
    ends.troubles(to, session.reports, session.fold)
    if made:
        reading.notices(to, [Notice(note) for note in made.notes])
        _hand_out(made, form.output, as_json=as_json)
    return session.finish(
        ExitCode.OK if made else ExitCode.DIFFERENT,
        {
            "name": target.name,
            "hosts": [envelope.host_record(report) for report in session.reports],
            "output": str(form.output) if made and form.output else None,
            "export": made and envelope.plain(made),
        },
    )


def _hand_out(made: Portable, output: Path | None, *, as_json: bool) -> None:
    if output:
        try:
            output.write_text(made.text, encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"it cannot be written: {error.strerror}",
                file=str(output),
                hint="name another file with -o",
            ) from error
    elif not as_json:
        sys.stdout.write(made.text)
