"""pyinfra: the operation `server.shell`, then a look at what it printed."""

import json
import os
from pathlib import Path

from pyinfra.operations import python, server

job = json.loads(Path(os.environ["FANOUT_JOB"]).read_text())
done = server.shell(name="work", commands=[job["inline_script"]])
python.call(name="answer", function=lambda: print(done.stdout))
