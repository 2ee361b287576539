"""srun's labelled output, as it was recorded and as it may be cut."""

from __future__ import annotations

import base64

import pytest

from envsync.transport.labels import Here, Labels, Voice

PAYLOAD = bytes(range(256)) * 5


def told(labels: Labels, out: bytes, err: bytes, size: int) -> dict[int, Voice]:
    """All that is heard when the streams come in pieces of this size."""
    whole: dict[int, Voice] = {}
    for data, feed in ((out, labels.feed_out), (err, labels.feed_err)):
        for start in range(0, len(data), size):
            for number, voice in feed(data[start : start + size]).items():
                known = whole.setdefault(number, Voice())
                known.out += voice.out
                known.err += voice.err
                known.over |= voice.over
                known.here = voice.here or known.here
                known.exit_code = known.exit_code if voice.exit_code is None else voice.exit_code
    return whole


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_two_tasks_are_told_apart_wherever_srun_breaks_lines(size: int) -> None:
    text = base64.b64encode(PAYLOAD)
    # srun breaks lines at 1024 bytes, and at the end of a stream anywhere.
    out = b"1: noise of a prolog\n0: M\n1: M\n" + b"".join(
        b"0: %s\n1: %s\n" % (text[start : start + 101], text[start : start + 101])
        for start in range(0, len(text), 101)
    )
    out += b"0: .\n1: .\n"
    err = (
        b"1: \n1: M here n2 0 yes\n"
        b"srun: error: n2: task 1: Exited with exit code 3\n"
        b"0: M here n1 0 no\n"
        b"1: a long\n0: other\x1e\n1:  line\x1e\n1: \x1e\n"
        b"0: slurmstepd-n1: error: *** STEP 2.0 ON n1 CANCELLED ***\n"
        b"1: M exit 3\x1e\n"
    )
    labels = Labels(b"M")
    heard = told(labels, out, err, size)
    assert heard[0] == Voice(PAYLOAD, b"other\n", over=True, here=Here("n1", "0", room=False))
    two = Voice(
        PAYLOAD, b"a long line\n\n", over=True, here=Here("n2", "0", room=True), exit_code=3
    )
    heard[1].err = heard[1].err.removeprefix(b"\n")
    assert heard[1] == two
    assert [each.split(":")[0] for each in labels.said] == ["srun", "slurmstepd-n1"]


def test_task_that_has_not_ended_is_not_over() -> None:
    labels = Labels(b"M")
    assert labels.feed_out(b"0: M\n0: YWJj") == {}
    assert labels.feed_out(b"\n0: ZA=") == {0: Voice(b"abc")}
    assert labels.feed_out(b"=\n0: .\n") == {0: Voice(b"d", over=True)}
