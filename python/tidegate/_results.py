"""What a simulation measured: tables, a summary, a page, plots."""

from __future__ import annotations

import html
import json
from os import PathLike
from pathlib import Path
from typing import Any

from tidegate import _tidegate

Table = _tidegate.Table


class Results:
    """What a simulation or a replay measured.

    Tables are Arrow streams: `polars.DataFrame(results.flows)`, `pyarrow.table(results.flows)` and
    `pandas.DataFrame.from_arrow(results.flows)` read them without a copy. They have the columns of the Parquet files of `save`; the end of a
    column's name is its unit (`_s`, `_bps`, `_bytes`, `_packets`), and half widths are those of 95 % confidence intervals. Beside the properties
    below there are `table("series")`, one row per curve and instant; `table("distributions")`, one row per flow, kind and value, with the share
    beyond it (`ccdf`); `table("drops")`, one row per port or flow and reason; and `table("workloads")`, one row per workload with all its
    connections, one per size, and one for its rounds.
    """

    def __init__(self, report: _tidegate.Report) -> None:
        """`Scenario.run` makes one."""
        self._report = report

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        return self._report.tables

    def table(self, name: str) -> Table:
        """The table of this name. Raises KeyError, which names the tables that there are."""
        return self._report.table(name)

    @property
    def flows(self) -> Table:
        """One row per variant (`run`) and flow; in a replay, per class."""
        return self.table("flows")

    @property
    def ports(self) -> Table:
        """One row per variant (`run`) and port."""
        return self.table("ports")

    @property
    def classes(self) -> Table:
        """One row per variant (`run`), port and class."""
        return self.table("classes")

    @property
    def replications(self) -> Table:
        """One row per variant (`run`), replication, scope (`flow`, `port` or `workload`) and name."""
        return self.table("replications")

    @property
    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`."""
        found: dict[str, Any] = json.loads(self._report.summary_json())
        return found

    @property
    def promises_kept(self) -> bool:
        """True if every promise of the first variant was kept."""
        return self._report.promises_kept

    def html(self) -> str:
        """The page of results, which opens without a network."""
        return self._report.html()

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write the folder that `tidegate run --out` writes, and return the paths of its files. Raises OSError."""
        return self._report.save(folder)

    def plot(self, metric: str = "throughput_bps", backend: str = "matplotlib") -> Any:
        """Bars of a column of `flows`, one per variant and flow (in a replay, per class). A null has no bar.

        The unit is the end of the column's name: `_bps` is bits per second, `_s` seconds. `backend` is `"matplotlib"` (returns Axes) or `"altair"`
        (returns a Chart); each is an extra of the package. Raises KeyError for a column that there is not, ImportError without the package, and
        ValueError for another backend.
        """
        if metric not in self.flows.columns:
            raise KeyError(f"flows has no column {metric!r}; it has {', '.join(self.flows.columns)}")
        rows = [row for row in self._figures(metric) if row["value"] is not None]
        if backend == "matplotlib":
            from matplotlib import pyplot

            axes: Any = pyplot.subplots()[1]
            labels = [f"{row['flow']} ({row['run']})" for row in rows]
            axes.barh(labels[::-1], [row["value"] for row in rows][::-1])
            axes.set_xlabel(metric)
            return axes
        if backend == "altair":
            import altair

            name = {"field": "run", "type": "nominal"}
            encoding = {
                "x": {"field": "value", "type": "quantitative", "title": metric},
                "y": {"field": "flow", "type": "nominal"},
                "yOffset": name,
                "color": name,
            }
            return altair.Chart.from_dict({"data": {"values": rows}, "mark": "bar", "encoding": encoding})
        raise ValueError(f'backend is {backend!r}; it is "matplotlib" or "altair"')

    def _figures(self, metric: str) -> list[dict[str, Any]]:
        flows = self.flows
        names = zip(flows.values("run"), flows.values("flow"), flows.values(metric))
        return [{"run": run, "flow": flow, "value": value} for run, flow, value in names]

    def __str__(self) -> str:
        return self._report.text(120)

    def __repr__(self) -> str:
        return f"<tidegate.Results of {self.flows.shape[0]} flows>"

    def _repr_html_(self) -> str:
        """The page in a frame, for Jupyter."""
        return framed(self.html())


def framed(page: str) -> str:
    """A page in a frame, for Jupyter."""
    return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 40em; border: 0"></iframe>'
