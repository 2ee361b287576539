"""Runs the probes beside each other, each in a process of its own with a limit of its own.

One that hangs, crashes or is stuck in the kernel costs nothing but its own remaining facts.
$1: a JSON object of name to [seconds, program].
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time


class Probe:
    """One program that runs. It answers lines of JSON on its standard output."""

    def __init__(self, limit, program):
        self.limit = limit
        self.deadline = time.monotonic() + limit
        self.facts = {}
        self.printed = b""
        self.child = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.readers = [
            threading.Thread(target=work, daemon=True) for work in (self.listen, self.keep_log)
        ]
        for reader in self.readers:
            reader.start()

    def listen(self):
        for line in self.child.stdout:
            # A line may be cut off by the end of the process, about which something is said.
            with contextlib.suppress(ValueError):
                self.facts.update(json.loads(line.decode("utf-8")))

    def keep_log(self):
        for line in self.child.stderr:
            self.printed = line.strip() or self.printed

    def finish(self):
        """Wait until the limit at most; what was said until then, and why not more."""
        self.readers[0].join(max(0.0, self.deadline - time.monotonic()))
        if self.readers[0].is_alive():
            failed = "no answer within %d s" % self.limit
            self.child.kill()
            self.readers[0].join(1)
        else:
            failed = self.ended()
        return {"facts": dict(self.facts), "failed": failed}

    def ended(self):
        try:
            code = self.child.wait(5)
        except subprocess.TimeoutExpired:
            return ""
        if not code:
            return ""
        self.readers[1].join(1)
        last = self.printed.decode("utf-8", "replace")[:300]
        how = "was ended by signal %d" % -code if code < 0 else "ended with exit code %d" % code
        return "it %s: %s" % (how, last) if last else "it %s" % how


def main():
    began = time.time()
    running, said = {}, {}
    for name, (limit, program) in json.loads(sys.argv[1]).items():
        try:
            running[name] = Probe(limit, program)
        except OSError as error:
            said[name] = {"facts": {}, "failed": "it could not be started: %s" % error}
    for name, probe in running.items():
        said[name] = probe.finish()
    with os.fdopen(3, "w", encoding="utf-8") as stream:
        answer = {"probes": said, "began": began, "ended": time.time()}
        stream.write(json.dumps(answer) + "\n")


main()
