"""Captures through a policy, and machines, beside what the command finds."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path

import polars
import pytest

import tidegate

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "scenarios" / "captures" / "quic-video.pcap"
UPLINK = ROOT / "scenarios" / "policies" / "media-uplink.toml"
MACHINE = ROOT / "scenarios" / "machines" / "pc-2002.toml"

#: So that a trial takes milliseconds.
QUICK: dict[str, float | list[float]] = {"question.packets": 2000, "question.loss": 0.001, "question.quantiles": [0.5]}


def test_a_replay_measures_and_writes_what_the_command_does(command: Path, tmp_path: Path) -> None:
    told = tmp_path / "command"
    told.mkdir()
    files: list[str | Path] = ["--sent", told / "sent.pcapng", "--dropped", told / "dropped.pcapng", "--out", told / "out"]
    done = subprocess.run([command, "replay", UPLINK, CAPTURE, "--json", *files], capture_output=True)
    results = tidegate.replay(UPLINK, CAPTURE, sent=tmp_path / "sent.pcapng", dropped=tmp_path / "dropped.pcapng")
    assert results.summary == json.loads(done.stdout)
    for name in ("sent.pcapng", "dropped.pcapng"):
        assert (tmp_path / name).read_bytes() == (told / name).read_bytes()
    results.save(tmp_path / "out")
    for path in (told / "out").iterdir():
        assert path.read_bytes() == (tmp_path / "out" / path.name).read_bytes(), path.name
    classes = polars.DataFrame(results.classes)
    assert (classes["offered_packets"] == classes["sent_packets"] + classes["dropped_packets"]).all()
    assert (classes["sent_packets"] > 0).any()


def test_a_replay_has_bars_of_its_classes() -> None:
    import matplotlib

    matplotlib.use("Agg")
    results = tidegate.replay(UPLINK, CAPTURE)
    assert len(results.plot("sent_packets").patches) == results.flows.shape[0]
    with pytest.raises(KeyError, match="flows has no column"):
        results.plot("rtt")


def test_a_scenario_that_was_changed_is_replayed() -> None:
    slow = tidegate.Scenario.from_file(UPLINK).set("policy.uplink.rate", "100 kbit/s")
    assert tidegate.replay(slow, CAPTURE).summary["duration_s"] > tidegate.replay(UPLINK, CAPTURE).summary["duration_s"]


def test_what_cannot_be_replayed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(tidegate.ScenarioError, match="no-such.pcap"):
        tidegate.replay(UPLINK, "no-such.pcap")
    with pytest.raises(tidegate.ScenarioError, match="no policy `access`"):
        tidegate.replay(UPLINK, CAPTURE, policy="access")
    with pytest.raises(tidegate.ScenarioError, match="no packet of interface `eth7`"):
        tidegate.replay(UPLINK, CAPTURE, interface="eth7")
    with pytest.raises(tidegate.ScenarioError, match="aggressive"):
        tidegate.replay(UPLINK, CAPTURE, ack_filter="all")
    copy = tmp_path / "copy.pcap"
    shutil.copy(CAPTURE, copy)
    before = copy.read_bytes()
    with pytest.raises(tidegate.ScenarioError, match="copy.pcap"):
        tidegate.replay(UPLINK, copy, sent=copy)
    with pytest.raises(tidegate.ScenarioError, match="standard output"):
        tidegate.replay(UPLINK, copy, dropped="-")
    assert copy.read_bytes() == before


def test_progress_of_a_replay_ends_it() -> None:
    told: list[float] = []
    tidegate.replay(UPLINK, CAPTURE, progress=told.append)
    assert told == sorted(told) and all(0 <= fraction <= 1 for fraction in told)

    def stop(fraction: float) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        tidegate.replay(UPLINK, CAPTURE, progress=stop)


def test_a_replay_that_is_ended_leaves_no_file(tmp_path: Path) -> None:
    record = struct.pack("<IIII", 1, 0, 60, 60) + bytes(60)
    large = tmp_path / "large.pcap"
    large.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + 400_000 * record)

    def stop(fraction: float) -> None:
        assert fraction < 1
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        tidegate.replay(UPLINK, large, sent=tmp_path / "sent.pcapng", progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["large.pcap"]


def test_a_model_says_what_the_command_says(command: Path, tmp_path: Path) -> None:
    changes = [text for key, value in QUICK.items() for text in ("--set", f"{key}={json.dumps(value)}")]
    done = subprocess.run([command, "model", MACHINE, "--json", "--seed", "5", "--out", tmp_path / "command", *changes], capture_output=True)
    found = tidegate.model(MACHINE, QUICK, seed=5)
    assert found.summary == json.loads(done.stdout)
    assert found.sentence == found.summary["sentence"] and found.sentence in repr(found)
    assert found.promises_kept == (done.returncode == 0)
    found.save(tmp_path / "python")
    for path in (tmp_path / "command").iterdir():
        assert path.read_bytes() == (tmp_path / "python" / path.name).read_bytes(), path.name
    assert polars.DataFrame(found.delays).columns == ["load", "flow", "packets_per_second", "delay_s", "share_beyond"]
    assert "<iframe" in found._repr_html_() and "resource" in str(found)


def test_progress_of_a_model_ends_it() -> None:
    told: list[float] = []

    def stop(fraction: float) -> None:
        told.append(fraction)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        tidegate.model(MACHINE, {"question.packets": 100_000_000}, progress=stop)
    assert len(told) == 1


def test_a_machine_that_cannot_be_asked_is_refused() -> None:
    with pytest.raises(tidegate.ScenarioError, match="clok"):
        tidegate.model(MACHINE, {"machine.clok": "2 GHz"})
    with pytest.raises(tidegate.ScenarioError, match="no-such.toml"):
        tidegate.model("no-such.toml")
