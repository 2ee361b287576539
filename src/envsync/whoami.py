"""Who runs envsync here."""

from __future__ import annotations

import getpass
import os


def user_name() -> str:
    """The user's name, or the number where it has none, as a container's often has not.

    Python raises KeyError then, and from 3.13 on OSError.
    """
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
