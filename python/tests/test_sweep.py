"""Sweeps measure the same wherever their points run, and go on where they ended."""

from __future__ import annotations

import pickle
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars
import pytest
import tidegate
from tidegate._sweep import _point

QUEUE = """
title = "A queue"
[simulation]
duration = "2 s"
replications = 3
[policy.line]
rate = "1 Mbit/s"
scheduler = "fifo"
buffer = { manager = "tail-drop", limit = "20 kB" }
[[link]]
name = "line"
from = "here"
to = "there"
policy = "line"
[[flow]]
name = "data"
from = "here"
to = "there"
source = { kind = "poisson", rate = "700 kbit/s", packet = "500 B" }
"""

AXES = {"policy.line.rate": ["1 Mbit/s", "2 Mbit/s"], "policy.line.buffer.limit": "10..20 kB/2"}


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    file = tmp_path / "queue.toml"
    file.write_text(QUEUE)
    return file


def points(folder: Path) -> dict[str, bytes]:
    return {part.name: part.read_bytes() for part in (folder / "points").iterdir()}


def test_a_sweep_is_that_of_the_command(queue: Path, command: Path, tmp_path: Path) -> None:
    told: list[float] = []
    results = tidegate.sweep(queue, AXES, out=tmp_path / "a", progress=told.append)
    axes = ["--axis", "policy.line.rate=1 Mbit/s,2 Mbit/s", "--axis", "policy.line.buffer.limit=10..20 kB/2"]
    subprocess.run([command, "sweep", queue.name, "--out", "b", *axes], cwd=tmp_path, check=True, capture_output=True)
    assert points(tmp_path / "a") == points(tmp_path / "b")
    assert (tmp_path / "a/table.parquet").read_bytes() == (tmp_path / "b/table.parquet").read_bytes()
    assert polars.DataFrame(results.table).equals(polars.read_parquet(tmp_path / "a/table.parquet"))
    assert polars.DataFrame(results.table)["policy.line.rate_bps"].unique().sort().to_list() == [1e6, 2e6]
    assert results.axes == list(AXES) and results.title == "A queue" and "data" in str(results)
    assert told[-1] == 1.0 and told == sorted(told)
    done = subprocess.run([command, "sweep", queue.name, "--out", "a", *axes], cwd=tmp_path, check=True, capture_output=True)
    assert b"0 of 4 points were run" in done.stderr


def test_an_executor_runs_what_is_missing(queue: Path, tmp_path: Path) -> None:
    tidegate.sweep(queue, AXES, out=tmp_path / "a")
    before = points(tmp_path / "a")
    (tmp_path / "a/points/point-00003.parquet").unlink()
    told: list[float] = []
    with ThreadPoolExecutor(2) as pool:
        tidegate.sweep(queue, AXES, out=tmp_path / "a", on=pool, progress=told.append)
        tidegate.sweep(queue, AXES, out=tmp_path / "b", on=pool)
    assert points(tmp_path / "a") == before == points(tmp_path / "b")
    assert told == [1.0]


def test_curves_have_intervals_and_units(queue: Path, tmp_path: Path) -> None:
    results = tidegate.sweep(queue, AXES, out=tmp_path / "a")
    axes = results.plot("data.delay_p99_s")
    assert axes.get_xlabel() == "policy.line.rate (Mbit/s)" and axes.get_ylabel() == "99 % delay of data (ms)"
    assert len(axes.containers) == 2 and axes.containers[0].has_yerr
    one = results.plot("data.loss", x="policy.line.buffer.limit", where={"policy.line.rate": "2 Mbit/s"})
    assert one.get_xlabel() == "policy.line.buffer.limit (kB)"
    assert list(one.containers[0].lines[0].get_xdata()) == [10.0, 20.0]
    for wrong in ["data.los", "date.loss"]:
        with pytest.raises(KeyError, match="there"):
            results.plot(wrong)
    with pytest.raises(KeyError, match="has no axis"):
        results.plot("data.loss", x="policy.line.weight")
    with pytest.raises(KeyError, match="no point has"):
        results.plot("data.loss", where={"policy.line.rate": "3 Mbit/s"})


def test_one_replication_has_no_interval(queue: Path, tmp_path: Path) -> None:
    for replications, drawn in [(1, 0), (2, 2)]:
        results = tidegate.sweep(queue, AXES, out=tmp_path / str(replications), replications=replications)
        _, _, (bars,) = results.plot("data.delay_p99_s").containers[0]
        assert sum(len(bar) == 2 for bar in bars.get_segments()) == drawn


def test_what_cannot_be_swept_is_refused_and_crosses_processes(queue: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    with pytest.raises(tidegate.ScenarioError, match="no --axis"):
        tidegate.sweep(queue, out=out)
    with pytest.raises(tidegate.ScenarioError, match="lime"):
        tidegate.sweep(queue, ["policy.lime.rate=1 Mbit/s"], out=out)
    with pytest.raises(tidegate.ScenarioError, match="--replications"):
        tidegate.sweep(queue, AXES, out=out, replications=0)
    with pytest.raises(TypeError, match="in a list"):
        tidegate.sweep(queue, "policy.line.rate=1 Mbit/s", out=out)
    with pytest.raises(ValueError, match='"local", "ray"'):
        tidegate.sweep(queue, AXES, out=out, on="sun")
    queue.write_text(QUEUE.replace("fifo", "fofo"))
    with pytest.raises(tidegate.ScenarioError) as raised:
        tidegate.sweep(queue, AXES, out=tmp_path / "b")
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (copy.line, str(copy)) == (raised.value.line, str(raised.value)) and copy.line is not None
    assert pickle.loads(pickle.dumps(_point)) is _point


def test_a_signal_or_an_exception_ends_a_sweep(queue: Path, tmp_path: Path) -> None:
    def enough(fraction: float) -> None:
        raise RuntimeError("enough")

    endless = {"simulation.duration": "2000000 s"}
    with pytest.raises(RuntimeError, match="enough"):
        tidegate.sweep(queue, AXES, out=tmp_path / "a", changes=endless, progress=enough)
    assert points(tmp_path / "a") == {}
