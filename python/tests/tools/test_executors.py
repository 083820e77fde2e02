"""Ray and Dask run the points of a sweep, and a worker that is killed costs no point. `cargo xtask test-tools` runs this."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import dask
import distributed
import psutil
import pytest
import ray
import tidegate

QUEUE = """
title = "A queue"
[simulation]
duration = "5 s"
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

AXES = {"policy.line.rate": "1..8 Mbit/s/8"}
# Points that take long enough for a worker to be killed within one.
SLOW = {"simulation.duration": "2000 s"}


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    file = tmp_path / "queue.toml"
    file.write_text(QUEUE)
    return file


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def points(folder: Path) -> dict[str, bytes]:
    return {part.name: part.read_bytes() for part in (folder / "points").iterdir() if part.suffix == ".parquet"}


def kill_one(find: Callable[[], list[psutil.Process]], folder: Path, killed: list[int]) -> threading.Thread:
    """Once a point is done and more are to come, kill the first process that `find` gives."""

    def watch() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            done = len(points(folder)) if (folder / "points").exists() else 0
            workers = find() if done >= 1 else []
            if workers and done < 7:
                workers[0].kill()
                killed.append(workers[0].pid)
                return
            time.sleep(0.005)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def ray_workers() -> list[psutil.Process]:
    return [process for process in psutil.Process().children(recursive=True) if process.name().startswith("ray::_point")]


@pytest.mark.usefixtures("cluster")
def test_ray_measures_what_this_machine_does(queue: Path, tmp_path: Path) -> None:
    tidegate.sweep(queue, AXES, out=tmp_path / "local")
    told: list[float] = []
    tidegate.sweep(queue, AXES, out=tmp_path / "ray", on="ray", progress=told.append)
    assert points(tmp_path / "ray") == points(tmp_path / "local")
    assert told == [number / 8 for number in range(1, 9)]


@pytest.mark.usefixtures("cluster")
def test_a_killed_worker_of_ray_costs_no_point(queue: Path, tmp_path: Path) -> None:
    killed: list[int] = []
    thread = kill_one(ray_workers, tmp_path / "ray", killed)
    tidegate.sweep(queue, AXES, out=tmp_path / "ray", on="ray", changes=SLOW)
    thread.join()
    assert len(killed) == 1
    tidegate.sweep(queue, AXES, out=tmp_path / "local", changes=SLOW)
    assert points(tmp_path / "ray") == points(tmp_path / "local")


@pytest.mark.usefixtures("cluster")
def test_an_error_at_a_point_is_that_of_the_file(queue: Path, tmp_path: Path) -> None:
    out = tmp_path / "ray"
    tidegate.sweep(queue, AXES, out=out)
    (out / "points/point-00002.parquet").unlink()
    (out / "points.json").write_text("{}")
    with pytest.raises(tidegate.ScenarioError, match="another sweep"):
        tidegate.sweep(queue, AXES, out=out, on="ray")


def test_five_hundred_points_of_three_axes_end_with_a_figure(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    script = [sys.executable, root / "python/examples/buffer_study.py", "--on", "ray", "--out", tmp_path / "out", "--duration", "3 s"]
    subprocess.run(script, check=True, timeout=300)
    assert len(points(tmp_path / "out")) == 500
    drawn = (tmp_path / "out/figure.svg").read_text()
    assert drawn.count("buffer (kB)") >= 3 and "tail exponent 1.6" in drawn and "lost packets (share)" in drawn
    assert (tmp_path / "out/figure.pdf").read_bytes().startswith(b"%PDF")


def test_dask_measures_what_this_machine_does(queue: Path, tmp_path: Path, client: distributed.Client) -> None:
    tidegate.sweep(queue, AXES, out=tmp_path / "local")
    tidegate.sweep(queue, AXES, out=tmp_path / "client", on=client)
    tidegate.sweep(queue, AXES, out=tmp_path / "current", on="dask")
    with dask.config.set(scheduler="processes"):
        tidegate.sweep(queue, AXES, out=tmp_path / "processes", on="dask")
    for folder in ["client", "current", "processes"]:
        assert points(tmp_path / folder) == points(tmp_path / "local"), folder


def test_a_killed_worker_of_dask_costs_no_point(queue: Path, tmp_path: Path, client: distributed.Client) -> None:
    killed: list[int] = []

    def workers() -> list[psutil.Process]:
        pids = [worker["pid"] for worker in client.run(lambda: {"pid": __import__("os").getpid()}).values()]
        return [psutil.Process(pid) for pid in pids]

    thread = kill_one(workers, tmp_path / "dask", killed)
    tidegate.sweep(queue, AXES, out=tmp_path / "dask", on=client, changes=SLOW)
    thread.join()
    assert len(killed) == 1
    tidegate.sweep(queue, AXES, out=tmp_path / "local", changes=SLOW)
    assert points(tmp_path / "dask") == points(tmp_path / "local")
