"""Logging in: keys one after another, over several connections if need be; then a password."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence

import paramiko

from envsync.errors import ConnectError
from envsync.transport.hostkeys import fingerprint
from envsync.transport.identities import Ask, Identities
from envsync.transport.settings import Settings

MOST_CONNECTIONS = 8
"""A server hangs up after some keys (sshd_config(5), MaxAuthTries: 6); then the next
connection goes on with the next key, so that also an agent full of keys leads in."""


class Login:
    """One host's login, which remembers over connections what was tried."""

    def __init__(
        self, way: Settings, identities: Identities, password: str | None, ask: Ask | None
    ) -> None:
        """`password` is that of --ask-pass; `ask` puts other questions of the server."""
        self.user = way.user or getpass.getuser()
        self._way = way
        self._identities = identities
        self._password = password
        self._ask = ask
        self._keys: Iterator[paramiko.PKey] = identities.keys(way.keys)
        self.made_with = ""
        """The key that was taken, or `password`."""
        self._again: paramiko.PKey | None = None
        self._retried: paramiko.PKey | None = None
        self._tried: list[str] = []
        self._on_this_connection = 0
        self._methods: Sequence[str] = ()
        """What the server takes, as far as it has said so."""

    def attempt(self, transport: paramiko.Transport, *, trusted: bool) -> bool:
        """Try what is left on this connection; False when the server hung up meanwhile.

        A password is sent only to a `trusted` host. Raises ConnectError when nothing is left.
        """
        self._on_this_connection = 0
        while (key := self._next()) is not None:
            if not transport.is_active():  # the server did not wait for a passphrase
                self._again = key
                return False
            self._on_this_connection += 1
            self._tried.append(key.get_name())
            try:
                more = transport.auth_publickey(self.user, key)
            except paramiko.BadAuthenticationType as error:
                self._methods = error.allowed_types
                break
            except (paramiko.SSHException, OSError, EOFError):
                if transport.is_active():
                    continue
                self._put_back(key)
                return False
            self._identities.remember(key, self._way.keys)
            self.made_with = fingerprint(key.get_name(), key.asbytes())
            if not more:
                return True
            self._methods = more  # the key was good, and not enough
            break
        if self._password is None or not trusted:
            raise self.denied()
        return self._by_password(transport, self._password)

    def _next(self) -> paramiko.PKey | None:
        # Not by a generator of generators: left half-way, it would end the keys with it.
        again, self._again = self._again, None
        return again or next(self._keys, None)

    def _put_back(self, key: paramiko.PKey) -> None:
        """Try a key once more that was the first on a connection that broke: it may be good."""
        if self._on_this_connection == 1 and key is not self._retried:
            self._again = self._retried = key
            self._tried.pop()

    def _by_password(self, transport: paramiko.Transport, password: str) -> bool:
        self._tried.append("the password")
        self.made_with = " and ".join(filter(None, [self.made_with, "password"]))
        try:
            if self._methods and "password" not in self._methods:
                return self._by_questions(transport, password)
            transport.auth_password(self.user, password, fallback=False)
        except paramiko.BadAuthenticationType as error:
            self._methods = error.allowed_types
            if "keyboard-interactive" not in self._methods:
                raise self.denied() from error
            return self._by_questions(transport, password)
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise self.denied() from error
        return True

    def _by_questions(self, transport: paramiko.Transport, password: str) -> bool:
        """Keyboard-interactive (RFC 4256): the password where it is asked for, else the user."""

        def answer(title: str, text: str, fields: Sequence[tuple[str, bool]]) -> list[str]:
            return [
                password
                if not shown and "password" in prompt.lower()
                else (self._ask(f"{self._way.name}: {title} {text} {prompt}") or "")
                if self._ask
                else ""
                for prompt, shown in fields
            ]

        try:
            transport.auth_interactive(self.user, answer)
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise self.denied() from error
        return True

    def denied(self) -> ConnectError:
        """The login that did not come about, with all that was tried."""
        offered = f"tried {', '.join(_counted(self._tried))}" if self._tried else "no key to try"
        takes = f"the server takes {', '.join(self._methods)}" if self._methods else ""
        why = [offered, takes, *self._identities.skipped(self._way.keys)]
        return ConnectError(
            "authentication",
            f"login as {self.user} was refused ({'; '.join(filter(None, why))})",
            hint="name the key with -i, or add it to the agent; --ask-pass for a password."
            " `ssh -v HOST true` shows what ssh tries",
        )


def _counted(words: Sequence[str]) -> Sequence[str]:
    """Equal words as one: 20 keys of a type make one text."""
    counts = {word: words.count(word) for word in words}
    return [word if count == 1 else f"{count} x {word}" for word, count in counts.items()]
