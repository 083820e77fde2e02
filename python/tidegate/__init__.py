"""Tidegate: simulate, prove and control how packets are policed, buffered, scheduled and shaped.

    >>> import tidegate
    >>> scenario = tidegate.Scenario.from_file("scenarios/quickstart.toml")
    >>> results = scenario.set("simulation.replications", 1).run(seed=7)
    >>> results.flows.columns[:2]
    ['run', 'flow']

Rates are bits per second, times seconds, lengths bytes; the end of a column's name is its unit.
"""

from tidegate._control import Control
from tidegate._model import Capacity, model
from tidegate._port import Departure, Head, Port, Scheduler, Wait
from tidegate._replay import replay
from tidegate._results import Results, Table
from tidegate._scenario import Scenario, schema
from tidegate._sweep import SweepResults, sweep
from tidegate._tidegate import ScenarioError, __version__

__all__ = [
    "Capacity",
    "Control",
    "Departure",
    "Head",
    "Port",
    "Results",
    "Scenario",
    "ScenarioError",
    "Scheduler",
    "SweepResults",
    "Table",
    "Wait",
    "__version__",
    "model",
    "replay",
    "schema",
    "sweep",
]
