"""The commands for a generation's place, run for real on this machine."""

from __future__ import annotations

import json
from pathlib import Path

from envsync.generations import Slot
from envsync.model import Host
from envsync.transport.local import LocalTransport


def test_what_conda_has_on_record_loses_its_credentials_and_nothing_else(tmp_path: Path) -> None:
    slot = Slot(str(tmp_path), "train", "abc")
    meta = Path(slot.prefix) / "conda-meta"
    meta.mkdir(parents=True)
    record = {
        "channel": "http://u:p@h.test/x/linux-64",
        "license": "see ssh://git@h.test/x",
        "url": "https://u:p@q@h.test:1/t/tk-1/x/linux-64/a-1-0.conda",
    }
    (meta / "a-1-0.json").write_text(json.dumps(record, indent=2))
    (meta / "history").write_text("+http://u:p@h.test/x/linux-64::a-1-0\n")
    sent = Path(slot.folder("it's a list.txt"))
    sent.parent.mkdir()
    sent.write_text("a\n-i https://u:p@h.test/simple # t\n")
    connection = LocalTransport().connect(Host("here"))
    gone = slot.folder("gone.txt")
    assert connection.run(slot.strip((str(sent), gone))).exit_code == 0
    assert sent.read_text() == "a\n-i https://h.test/simple # t\n"
    assert json.loads((meta / "a-1-0.json").read_text()) == {
        "channel": "http://h.test/x/linux-64",
        "license": record["license"],
        "url": "https://h.test:1/x/linux-64/a-1-0.conda",
    }
    assert (meta / "history").read_text() == "+http://h.test/x/linux-64::a-1-0\n"
    assert sorted(file.name for file in meta.iterdir()) == ["a-1-0.json", "history"]
