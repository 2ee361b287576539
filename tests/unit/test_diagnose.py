"""What conda and pip really print when they fail, and the cause that is read from it."""

from __future__ import annotations

import pytest

from envsync.diagnose import failure

OUTPUTS = {
    "disk-full": "OSError: [Errno 28] No space left on device: '/h/pkgs/python'",
    "package-missing": "ResolvePackageNotFound: \n  - scipyy=1.99\n",
    "terms-of-service": "CondaToSNonInteractiveError: Terms of Service have not been accepted",
    "conflict": "UnsatisfiableError: The following specifications were found to be incompatible",
    "pip": "Pip subprocess error:\nERROR: No matching distribution found for nope==1.0\n",
    "channel": "CondaHTTPError: HTTP 000 CONNECTION FAILED for url <http://127.0.0.1/x>",
    "permission": "NotWritableError: The current user does not have write permissions",
    "changed-meanwhile": "/h/envs/x was changed by somebody else in the meantime: it points to y",
    "path": "mkdir: cannot create directory '/h/envs': Not a directory",
    "failed": "something never seen before",
}


@pytest.mark.parametrize(("cause", "output"), OUTPUTS.items())
def test_cause_is_read_from_the_output(cause: str, output: str) -> None:
    error = failure("building", 1, output)
    assert error.cause == cause
    assert error.hint
    assert error.output == output


def test_message_names_the_package() -> None:
    assert failure("building", 1, OUTPUTS["package-missing"]).message.endswith(": scipyy=1.99")
    assert "nope==1.0" in failure("building", 1, OUTPUTS["pip"]).message


def test_killed_build_says_what_that_may_mean() -> None:
    assert "memory" in failure("building", 137, "Killed").message


def test_mamba_says_it_in_other_words() -> None:
    error = failure("building", 1, "error    libmamba nothing provides requested scipyy 1.99**")
    assert error.cause == "package-missing"
    assert error.message.endswith("scipyy 1.99**")
