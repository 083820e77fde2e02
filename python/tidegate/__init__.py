"""Tidegate: simulate, prove and control how packets are policed, buffered, scheduled and shaped.

    >>> import tidegate
    >>> scenario = tidegate.Scenario.from_file("scenarios/quickstart.toml")
    >>> results = scenario.set("simulation.replications", 1).run(seed=7)
    >>> results.flows.columns[:2]
    ['run', 'flow']

Rates are bits per second, times seconds, lengths bytes; the end of a column's name is its unit.
"""

from tidegate._control import Control
from tidegate._results import Results, Table
from tidegate._scenario import Scenario, schema
from tidegate._sweep import SweepResults, sweep
from tidegate._tidegate import ScenarioError, __version__

__all__ = ["Control", "Results", "Scenario", "ScenarioError", "SweepResults", "Table", "__version__", "schema", "sweep"]
