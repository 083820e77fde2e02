"""polars reads traces, which conserve packets, have the waiting times that their documentation shows, and join with tables of connections."""

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


def test_a_trace_of_connections_joins_their_table(command: Path, tmp_path: Path) -> None:
    trace, completions = tmp_path / "steps.parquet", tmp_path / "connections.parquet"
    options = ["--variant", "8 senders", "--set", "simulation.duration=100 ms", "--trace", str(trace), "--completions", str(completions)]
    subprocess.run([str(command), "run", "scenarios/incast.toml", *options], cwd=ROOT, check=True, capture_output=True, text=True)
    steps, connections = polars.read_parquet(trace), polars.read_parquet(completions).filter(polars.col("replication") == 1)
    assert steps["connection"].null_count() == 0 and set(steps["flow"]) == {"answers"}
    delivered = steps.filter((polars.col("event") == "delivered") & ~polars.col("answer"))
    of_each = delivered.group_by("flow", "connection").agg(polars.col("bytes").sum().alias("delivered"), polars.col("created_ps").min())
    joined = connections.join(of_each, left_on=["workload", "connection"], right_on=["flow", "connection"])
    assert joined.height == connections.height > 100
    assert (joined["delivered"] >= joined["bytes"]).all() and (joined["created_ps"] >= joined["began_ps"]).all()
    ends = connections.select("workload", "connection", (polars.col("began_ps") + polars.col("time_ps")).alias("time_ps"))
    last = ends.join(delivered, left_on=["workload", "connection", "time_ps"], right_on=["flow", "connection", "time_ps"])
    assert last["connection"].n_unique() == connections.height
