"""A bridge between two pairs of virtual interfaces, in a network namespace of the test, asked and changed from Python. Needs root."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidegate

POLICY = """
[policy.access]
rate = "5 Mbit/s"
scheduler = "drr"
class = [
    { name = "voice", match = [{ dscp = "ef" }], weight = 3 },
    { name = "rest", weight = 1 },
]
"""

#: Two hosts, h1 and h2, with the bridge's interfaces between them.
NETWORK = """set -e
ip link add h1 type veth peer name b1
ip link add h2 type veth peer name b2
for name in h1 b1 b2 h2; do ip link set $name up; done
exec "$@"
"""

#: Sends frames of an unknown type, which belong to the class `rest`.
SENDER = """
import socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as host:
    host.bind(("h1", 0))
    for number in range(int(sys.argv[1])):
        host.send(bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xB5]) + bytes(186))
"""


#: The socket of a bridge in the documentation.
PLACE = "/run/tidegate/control"


class Bridge:
    """A running `tidegate live`, and its control socket."""

    def __init__(self, process: subprocess.Popen[bytes], socket: Path) -> None:
        self.process = process
        self.socket = socket
        self.control = tidegate.Control(socket, timeout_s=10)

    def send(self, frames: int) -> None:
        """Send frames from the first host."""
        namespace = f"--net=/proc/{self.process.pid}/ns/net"
        subprocess.run(["nsenter", namespace, sys.executable, "-c", SENDER, str(frames)], check=True)

    def received(self) -> int:
        """The packets that the bridge has received from the first host."""
        counted: int = self.control.status()["directions"][0]["received"]["packets"]
        return counted


@pytest.fixture
def bridge(command: Path, tmp_path: Path) -> Iterator[Bridge]:
    """A bridge that is started for one test."""
    if os.geteuid() != 0:
        pytest.fail("a bridge needs root: run the tests as root")
    for program in ("unshare", "nsenter", "ip"):
        if shutil.which(program) is None:
            pytest.fail(f"install {program} (Debian: util-linux and iproute2)")
    policy, socket = tmp_path / "access.toml", tmp_path / "control"
    policy.write_text(POLICY)
    live: list[str | Path] = [command.resolve(), "live", policy, "--in", "b1", "--out", "b2", "--quiet", "--control", socket]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(["unshare", "--net", "sh", "-c", NETWORK, "sh", *live], stdout=log, stderr=log)
    try:
        for _ in range(600):
            if socket.exists() or process.poll() is not None:
                break
            time.sleep(0.1)
        assert process.poll() is None and socket.exists(), (tmp_path / "log").read_text()
        yield Bridge(process, socket)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def test_a_running_bridge_is_asked_and_changed(bridge: Bridge) -> None:
    control = bridge.control
    status = control.status()
    assert status["uptime_s"] >= 0 and status["directions"][0]["rate_bps"] == 5_000_000

    before = bridge.received()
    bridge.send(100)
    for _ in range(600):
        if bridge.received() >= before + 100:
            break
        time.sleep(0.1)
    assert bridge.received() >= before + 100

    changed = control.set("policy.access.rate", "8 Mbit/s")
    assert changed["applied"]["directions"][0]["queues"]["dropped"]["packets"] == 0
    assert control.status()["directions"][0]["rate_bps"] == 8_000_000
    control.rollback()
    assert control.status()["directions"][0]["rate_bps"] == 5_000_000

    classes = control.ask({"classes": {"names": "voi*"}})
    assert "voice" in str(classes) and "rest" not in str(classes)
    with pytest.raises(ValueError, match="apples"):
        control.set("policy.access.rate", "5 apples")
    with pytest.raises(ValueError):
        control.ask("no such request")
    assert control.status()["directions"][0]["rate_bps"] == 5_000_000


def test_the_example_of_the_page_runs(bridge: Bridge) -> None:
    page = (Path(__file__).parents[2] / "docs" / "tasks" / "python.md").read_text()
    example = next(text for text in page.split("```") if "tidegate.Control(" in text).removeprefix("python\n")
    assert PLACE in example
    exec(compile(example.replace(PLACE, str(bridge.socket)), "docs/tasks/python.md", "exec"), {"tidegate": tidegate})
    assert bridge.control.status()["changes"] == 1


def test_a_bridge_that_has_ended_does_not_answer(bridge: Bridge) -> None:
    bridge.control.status()
    bridge.process.send_signal(signal.SIGTERM)
    bridge.process.wait(timeout=60)
    with pytest.raises(ConnectionError, match="no bridge answers"):
        bridge.control.status()
