"""What a command does to the folder's memory: the decision, its end, and a line in the log."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from envsync.cli.session import Session, operator
from envsync.commit import Decision, Write, is_settled
from envsync.render import changes
from envsync.report import Entry
from envsync.store import Store


class Deeds:
    """Remembers, for one run, what was decided, and tells about it however the run ends."""

    def __init__(self, store: Store, session: Session, command: str) -> None:
        self.decided: Decision | None = None
        self._store = store
        self._session = session
        self._command = command

    def deciding(self, remember: Callable[[], None]) -> Write:
        """What writes a decision down, and with it, by `remember`, what the nodes should hold."""

        def write(decision: Decision) -> None:
            self._store.decide(decision)
            self.decided = decision
            remember()

        return write

    @contextlib.contextmanager
    def telling_interruptions(self) -> Iterator[None]:
        """Say after a ^C which hosts are where."""
        try:
            yield
        except KeyboardInterrupt:
            decided = self.decided.hosts if self.decided else ()
            changes.interrupted(
                self._session.out, self._session.reports, self._session.fold, decided
            )
            raise

    def done(self, name: str, generations: Sequence[str], lock: str, outcome: str) -> None:
        """The run is over: forget a decision that was carried out, and write the log."""
        hosts = self._session.hosts
        pending = self._store.decision()
        if (
            pending
            and pending.name == name
            and is_settled(pending, self._session.reports, self.decided)
        ):
            self._store.settle()
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        self._store.record(
            Entry(
                now,
                operator(),
                self._command,
                name,
                tuple(generations),
                lock,
                self._session.fold(hosts),
                outcome,
            )
        )
