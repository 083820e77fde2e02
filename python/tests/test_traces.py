"""polars reads the trace of quickstart, which conserves packets, and has the waiting times that its documentation shows."""

from __future__ import annotations

import subprocess
from pathlib import Path

import polars

ROOT = Path(__file__).resolve().parents[2]


def test_polars_reads_the_trace_of_quickstart(command: Path, tmp_path: Path) -> None:
    file = tmp_path / "steps.parquet"
    options = ["--variant", "with the policy", "--set", "simulation.duration=8 s", "--trace", str(file)]
    run = [str(command), "run", "scenarios/quickstart.toml", *options]
    said = subprocess.run(run, cwd=ROOT, check=True, capture_output=True, text=True)
    steps = polars.read_parquet(file)
    assert f"Trace: {steps.height} steps" in said.stdout
    assert steps["time_ps"].is_sorted()
    assert steps.schema["time_ps"] == polars.UInt64 and steps.schema["flow"] == polars.String
    counts = steps.group_by("flow", "event").len()
    for flow in steps["flow"].unique():
        of = dict(counts.filter(polars.col("flow") == flow).select("event", "len").iter_rows())
        waiting = of["offered"] - of.get("dropped", 0) - of["started"]
        assert 0 <= waiting <= 200, (flow, of)
    calls = steps.filter(polars.col("flow") == "call-1")
    waits = calls.filter(polars.col("event") == "offered").join(calls.filter(polars.col("event") == "started"), on=["packet", "link"])
    wait_ms: list[float] = ((waits["time_ps_right"] - waits["time_ps"]) / 1e9).to_list()
    assert len(wait_ms) > 300 and min(wait_ms) >= 0.0 and max(wait_ms) < 30.0
