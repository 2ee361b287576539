"""One probe's answers, read without trust: what is missing or of another kind is not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envsync.redact import redact
from envsync.wide import Failure


class Answers:
    """What a probe said. Each reader gives None for what is not known."""

    def __init__(self, probe: str, facts: Mapping[str, Any], failed: str = "") -> None:
        self.probe = probe
        self._facts = facts
        self._failed = failed

    def __contains__(self, name: str) -> bool:
        return name in self._facts

    def text(self, name: str) -> str | None:
        """Text or number as text; empty where Python said None."""
        value = self._facts.get(name, {})
        if value is None:
            return ""
        return str(value) if isinstance(value, str | int | float) else None

    def flag(self, name: str) -> bool | None:
        value = self._facts.get(name)
        return value if isinstance(value, bool) else None

    def number(self, name: str) -> int | None:
        value = self._facts.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def texts(self, name: str) -> tuple[str, ...] | None:
        value = self._facts.get(name)
        return tuple(map(str, value)) if isinstance(value, list) else None

    def table(self, name: str) -> Mapping[str, Any] | None:
        value = self._facts.get(name)
        return value if isinstance(value, dict) and value.keys() != {"error"} else None

    def tables(self, name: str) -> tuple[Mapping[str, Any], ...] | None:
        value = self._facts.get(name)
        if not isinstance(value, list):
            return None
        return tuple(each for each in value if isinstance(each, dict))

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The questions that failed, and the probe as a whole if it did."""
        single = [
            Failure(self.probe, name, redact(str(value["error"])))
            for name, value in self._facts.items()
            if isinstance(value, dict) and value.keys() == {"error"}
        ]
        whole = self._failed or self._facts.get("error")
        return (*single, *([Failure(self.probe, "", redact(str(whole)))] if whole else []))
