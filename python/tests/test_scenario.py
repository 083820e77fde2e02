"""Scenarios: reading, changing, describing, simulating."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import tidegate
from tidegate import _tidegate

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "scenarios" / "quickstart.toml"

POLICY = """
[policy.access]
rate = "10 Mbit/s"
scheduler = "strict-priority"
[[policy.access.class]]
name = "voice"
match = [{ dscp = "ef" }]
priority = 0
"""

CONGESTED = {
    "simulation": {"duration": "1 s", "replications": 2},
    "policy": {"access": {"rate": "1 Mbit/s", "scheduler": "fifo", "buffer": {"manager": "tail-drop", "limit": "15 kB"}}},
    "link": [{"name": "up", "from": "a", "to": "b", "policy": "access"}],
    "flow": [{"name": "f", "from": "a", "to": "b", "source": {"kind": "poisson", "packet": "1000 B", "rate": "1.2 Mbit/s"}}],
}


def short() -> tidegate.Scenario:
    """Quickstart, shortened to what a test needs."""
    scenario = tidegate.Scenario.from_file(QUICKSTART)
    return scenario.set("simulation.duration", "3 s").set("simulation.warm_up", "1 s").set("simulation.replications", 2)


def test_a_text_a_file_and_objects_are_read() -> None:
    assert "voice" in tidegate.Scenario.from_text(POLICY).check()
    assert tidegate.Scenario.from_file(QUICKSTART).variants == ["with the policy", "without the policy"]
    assert "1 Mbit/s" in tidegate.Scenario.from_dict(CONGESTED).check()


def test_an_error_has_the_text_of_the_command_and_its_place() -> None:
    with pytest.raises(tidegate.ScenarioError) as caught:
        tidegate.Scenario.from_text(POLICY.replace("10 Mbit/s", "10 apples"), "access.toml")
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.file, error.line, error.column) == ("access.toml", 3, 8)
    assert "apples" in str(error) and "--> access.toml:3:8" in str(error)


def test_a_file_that_is_missing_has_no_place() -> None:
    with pytest.raises(tidegate.ScenarioError, match="no-such.toml") as caught:
        tidegate.Scenario.from_file("no-such.toml")
    assert caught.value.line is None


def test_set_returns_another_scenario() -> None:
    first = tidegate.Scenario.from_text(POLICY)
    second = first.set("policy.access.rate", "5 Mbit/s")
    assert "10 Mbit/s" in first.check() and "5 Mbit/s" in second.check()
    with pytest.raises(tidegate.ScenarioError, match="rat"):
        first.set("policy.access.rat", "5 Mbit/s")


def test_several_keys_need_to_be_right_only_together() -> None:
    branch = tidegate.Scenario.from_file(ROOT / "scenarios" / "branch-office.toml")
    more = {"policy.access.class.voice.rate": "4 Mbit/s", "policy.access.class.bulk.rate": "1 Mbit/s"}
    assert "4 Mbit/s guaranteed" in branch.set_all(more).check()
    with pytest.raises(tidegate.ScenarioError, match="add up to"):
        branch.set("policy.access.class.voice.rate", "4 Mbit/s")


@pytest.mark.parametrize("first", [tidegate.Scenario.from_file(QUICKSTART), tidegate.Scenario.from_dict(CONGESTED)], ids=["file", "dict"])
def test_a_scenario_can_be_sent_to_another_process(first: tidegate.Scenario) -> None:
    changed = first.set("simulation.duration", "3 s").set("simulation.replications", 2)
    other = pickle.loads(pickle.dumps(changed))
    assert other.check() == changed.check() != first.check()
    assert other.run(seed=5).summary == changed.run(seed=5).summary


def test_objects_that_no_file_can_hold_are_refused() -> None:
    with pytest.raises(TypeError):
        tidegate.Scenario.from_dict({"simulation": {"duration": object()}})
    with pytest.raises(tidegate.ScenarioError):
        tidegate.Scenario.from_dict({"simulation": None})


def test_a_policy_has_nothing_to_simulate() -> None:
    with pytest.raises(tidegate.ScenarioError, match="nothing to simulate"):
        tidegate.Scenario.from_text(POLICY).run()
    with pytest.raises(ValueError, match="replications"):
        short().run(replications=0)


def test_bounds_are_those_of_the_command(command: Path) -> None:
    told = subprocess.run([command, "bounds", QUICKSTART, "--json"], check=True, capture_output=True).stdout
    assert tidegate.Scenario.from_file(QUICKSTART).bounds() == json.loads(told)


#: The second camera of docs/admit.md, which is refused.
CAMERA = {
    "name": "second-camera",
    "from": "branch",
    "to": "headquarters",
    "header": {"dscp": "af41"},
    "traffic": {"rate": "1.5 Mbit/s", "burst": "20 kB", "packet": "1218 B"},
    "promise": {"delay": "100 ms"},
}


def test_an_admission_is_that_of_the_command(command: Path, tmp_path: Path) -> None:
    branch = ROOT / "scenarios" / "branch-office.toml"
    text = json.dumps(CAMERA)
    flow = tmp_path / "camera.toml"
    flow.write_text(_tidegate.toml_of_json(text))
    told = subprocess.run([command, "admit", branch, "--flow", flow, "--json"], capture_output=True)
    answer = tidegate.Scenario.from_file(branch).admit(CAMERA)
    assert answer == json.loads(told.stdout) and told.returncode == 1
    assert not answer["admitted"] and answer["offers"]
    burst = {**CAMERA, "traffic": {"rate": "1.5 Mbit/s", "burst": "8 kB", "packet": "1218 B"}}
    assert tidegate.Scenario.from_file(branch).admit(burst)["admitted"]


def test_an_admission_sees_changes_and_texts() -> None:
    branch = tidegate.Scenario.from_text((ROOT / "scenarios" / "branch-office.toml").read_text())
    assert not branch.admit(CAMERA)["admitted"]
    assert branch.set("flow.camera.promise.delay", "120 ms").admit(CAMERA)["admitted"]
    with pytest.raises(tidegate.ScenarioError, match="burts"):
        branch.admit({**CAMERA, "traffic": {"burts": "20 kB"}})
    with pytest.raises(tidegate.ScenarioError, match="a flow without a simulation"):
        tidegate.Scenario.from_text(POLICY).admit(CAMERA)


def test_a_run_measures_what_the_command_measures(command: Path, tmp_path: Path) -> None:
    changes = ['simulation.duration="3 s"', 'simulation.warm_up="1 s"', "simulation.replications=2"]
    arguments = [text for change in changes for text in ("--set", change)]
    told = subprocess.run([command, "run", QUICKSTART, "--json", "--seed", "9", "--out", tmp_path / "command", *arguments], capture_output=True)
    results = short().run(seed=9)
    assert results.summary == json.loads(told.stdout)
    files = results.save(tmp_path / "python")
    assert {path.name for path in files} == {path.name for path in (tmp_path / "command").iterdir()}
    for path in (tmp_path / "command").iterdir():
        assert path.read_bytes() == (tmp_path / "python" / path.name).read_bytes(), path.name


def test_packets_are_conserved_in_every_row() -> None:
    flows = tidegate.Scenario.from_dict(CONGESTED).run(seed=1).flows
    counts = [flows.values(f"{name}_packets") for name in ("offered", "sent", "dropped", "queued")]
    for offered, sent, dropped, queued in zip(*counts):
        assert offered == sent + dropped + queued
        assert dropped > 0


def test_progress_grows_and_its_exception_ends_the_run() -> None:
    told: list[float] = []
    tidegate.Scenario.from_dict(CONGESTED).run(progress=told.append)
    assert told == sorted(told) and all(0 <= fraction <= 1 for fraction in told)

    def stop(fraction: float) -> None:
        raise RuntimeError("enough")

    endless = tidegate.Scenario.from_dict(CONGESTED).set("simulation.duration", "20000 s")
    with pytest.raises(RuntimeError, match="enough"):
        endless.run(progress=stop)


def test_a_signal_ends_a_run_and_other_threads_go_on() -> None:
    endless = tidegate.Scenario.from_dict(CONGESTED).set("simulation.duration", "2000000 s")
    turns = 0
    is_done = threading.Event()

    def count() -> None:
        nonlocal turns
        while not is_done.wait(0.01):
            turns += 1
            if turns == 20:
                os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=count)
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            endless.run()
            time.sleep(60)
    finally:
        is_done.set()
        other.join()
    assert turns >= 20


SCRIPT = ["-c", "import sys; from tidegate._command import main; sys.exit(main())"]


@pytest.mark.parametrize("way", [SCRIPT, ["-m", "tidegate"]], ids=["script", "module"])
def test_the_console_script_and_the_module_are_the_command(way: list[str]) -> None:
    script = [sys.executable, *way]
    done = subprocess.run([*script, "--version"], check=True, capture_output=True, text=True)
    assert tidegate.__version__ in done.stdout
    assert subprocess.run([*script, "run", "no-such.toml"], capture_output=True).returncode == 2


def test_nothing_listens_at_the_socket(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match="no bridge answers"):
        tidegate.Control(tmp_path / "socket").status()
    with pytest.raises(ValueError, match="timeout_s"):
        tidegate.Control(tmp_path / "socket", timeout_s=-1).status()


def test_a_bridge_is_asked_in_lines_of_json(tmp_path: Path) -> None:
    import socket

    place = str(tmp_path / "socket")
    asked: list[object] = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen()

        def answer() -> None:
            connection, _ = server.accept()
            with connection, connection.makefile("rw") as lines:
                asked.append(json.loads(lines.readline()))
                lines.write(json.dumps({"version": 1, "error": {"kind": "bad-input", "text": "error: no such key"}}) + "\n")

        other = threading.Thread(target=answer)
        other.start()
        with pytest.raises(ValueError, match="no such key"):
            tidegate.Control(place).set("policy.access.rate", "5 Mbit/s")
        other.join()
    assert asked == [{"version": 1, "request": {"set": {"values": ['policy.access.rate="5 Mbit/s"'], "how": asked_how(asked[0])}}}]


def asked_how(request: object) -> object:
    """The default of how a change is applied, which the protocol defines."""
    assert isinstance(request, dict)
    return request["request"]["set"]["how"]


def test_the_schema_names_its_tables() -> None:
    assert "policy" in tidegate.schema()["properties"]
