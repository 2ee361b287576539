"""Ways to reach a host. Each is an `envsync.ports.Transport` under one contract test suite."""

from __future__ import annotations

import shutil
import sys

if shutil.which("ssh") and "invoke" not in sys.modules:
    # paramiko imports it for `Match exec` in ssh_config, which ssh itself reads for us. It would
    # take a fifth of the time that every command needs to start.
    sys.modules["invoke"] = None  # type: ignore[assignment]  # as the import system has it
    import paramiko  # noqa: F401

    del sys.modules["invoke"]
