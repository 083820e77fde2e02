"""Wireshark's command line reads the capture of a trace: every packet, its headers, and why packets were dropped."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_wireshark_reads_the_trace_of_quickstart(command: Path, tmp_path: Path) -> None:
    capture = tmp_path / "uplink.pcapng"
    trace = [command, "run", "scenarios/quickstart.toml", "--variant", "without the policy", "--trace", capture, "--trace-link", "uplink"]
    said = subprocess.run(trace, cwd=ROOT, check=False, capture_output=True, text=True)
    assert capture.exists(), said.stderr
    fields = ["frame.number", "frame.time_relative", "frame.len", "ip.dsfield.dscp", "ip.checksum.status", "frame.comment", "_ws.malformed"]
    options = ["-o", "ip.check_checksum:TRUE", "-T", "fields", *(part for field in fields for part in ("-e", field))]
    read = subprocess.run(["tshark", "-r", capture, *options], check=True, capture_output=True, text=True)
    rows = [line.split("\t") for line in read.stdout.splitlines()]
    assert f"Trace: {len(rows)} packets" in said.stdout
    times = [float(row[1]) for row in rows]
    assert times == sorted(times)
    assert {row[4] for row in rows} == {"1"}, "checksums of IPv4 are right"
    assert not any(row[6] for row in rows), "no frame is malformed"
    calls = [row for row in rows if row[3] == "46"]
    assert calls and {row[2] for row in calls} == {"214"}
    dropped = [row for row in rows if row[5]]
    assert dropped and all(row[5].startswith("dropped: ") for row in dropped)
