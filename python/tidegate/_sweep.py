"""Sweeps: one scenario at many points, on local cores or through an executor of a cluster."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from math import nan
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from tidegate import _tidegate
from tidegate._results import Table, framed
from tidegate._scenario import change

Value = str | float | bool


class Future(Protocol):
    """What `submit` of an executor returns."""

    def result(self) -> Any:
        """Wait for the end of the task; return its answer or raise its exception."""

    def cancel(self) -> Any:
        """Give the task up."""


class Executor(Protocol):
    """`distributed.Client`, an executor of `concurrent.futures`, or another object with their `submit`."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """Begin `function(*arguments)` elsewhere; return a Future."""


class SweepResults:
    """What a sweep measured: one row per point, variant (`run`), and flow, port or workload.

    `table` has the columns of `table.parquet`: the point, the value of every axis (as text, and behind it as a number with the unit at the end of its
    name), `run`, `scope` (`flow`, `port` or `workload`), `name`, `replications`, and for every metric its mean, the half width of its 95 % interval, and its
    difference to the first point with its own half width.
    """

    def __init__(self, report: _tidegate.SweepReport, folder: Path) -> None:
        """`sweep` makes one."""
        self._report = report
        self._table = report.table()
        self.folder = folder

    @property
    def table(self) -> Table:
        """The table, as an Arrow stream: `polars.DataFrame(results.table)`."""
        return self._table

    @property
    def axes(self) -> list[str]:
        """The keys of the axes, in their order."""
        return [key for key, _, _ in self._report.axes]

    @property
    def title(self) -> str:
        """The title of the scenario."""
        return self._report.title

    def html(self) -> str:
        """The page of results, which opens without a network."""
        return self._report.html()

    def plot(
        self,
        figure: str,
        x: str | None = None,
        where: Mapping[str, Value] | None = None,
        run: str | None = None,
        axes: Any = None,
    ) -> Any:
        """Draw the means of a figure, with their 95 % intervals where there are several replications, with matplotlib; return the Axes.

        `figure` is NAME.METRIC, such as `"voice.delay_p99_s"`; `x` the key of the horizontal axis, without it the first. `where` keeps the
        points with these values of other keys, as text of the sweep or as numbers. Each combination of the values of the remaining axes, and of
        the variants without `run`, is one curve. Draws into `axes` or a new figure; labels have units. Raises KeyError for a figure, a key
        or a value that there is not, and ImportError without matplotlib.
        """
        from matplotlib import pyplot

        name, _, metric = figure.rpartition(".")
        x = self.axes[0] if x is None else x
        curves = self._curves(name, metric, x, dict(where or {}), run)
        places = [place for curve in curves.values() for place, _, _ in curve]
        means = [mean for curve in curves.values() for _, mean, _ in curve]
        unit = next(unit for key, unit, _ in self._report.axes if key == x)
        (x_scale, x_unit), (y_scale, y_unit) = _scale(unit, places), _scale(_unit(metric), means)
        if axes is None:
            _, axes = pyplot.subplots()
        for label, curve in curves.items():
            curve.sort(key=lambda place: place[0])
            across, up, widths = zip(*curve)
            axes.errorbar(
                [place / x_scale for place in across],
                [mean / y_scale for mean in up],
                yerr=[nan if width is None else width / y_scale for width in widths],
                marker="o",
                markersize=3,
                linewidth=1,
                capsize=2,
                label=label,
            )
        axes.set_xlabel(f"{x}{x_unit}")
        axes.set_ylabel(f"{_WORDS.get(metric, metric)} of {name}{y_unit}")
        if len(curves) > 1:
            axes.legend(fontsize="small")
        return axes

    def _curves(
        self, name: str, metric: str, x: str, where: dict[str, Value], run: str | None
    ) -> dict[str, list[tuple[float, float, float | None]]]:
        """Place, mean and half width at every point of every curve, by the curve's label."""
        columns = self.table.columns
        width = _half_width(metric)
        if width not in columns:
            known = ", ".join(column for column in columns if _half_width(column) in columns)
            raise KeyError(f"there is no metric {metric!r}; there is {known}")
        for key in [x, *where]:
            if key not in self.axes:
                raise KeyError(f"the sweep has no axis {key!r}; it has {', '.join(self.axes)}")
        places = {key: (unit, numbers) for key, unit, numbers in self._report.axes}
        values = {key: self.table.values(key) for key in self.axes}
        rows = {column: self.table.values(column) for column in ["point", "run", "name", metric, width]}
        runs = list(dict.fromkeys(rows["run"]))
        for key, value in where.items():
            if value not in values[key]:
                raise KeyError(f"no point has {key} = {value!r}; there is {', '.join(str(one) for one in dict.fromkeys(values[key]))}")
        if run is not None and run not in runs:
            raise KeyError(f"there is no run {run!r}; there is {', '.join(runs)}")
        numbers: list[float] | None = places[x][1]
        if numbers is None:
            raise KeyError(f"the values of {x} are not numbers; give another `x`")
        others = [key for key in self.axes if key != x and key not in where]
        curves: dict[str, list[tuple[float, float, float | None]]] = {}
        for row, point in enumerate(rows["point"]):
            mean = rows[metric][row]
            if rows["name"][row] != name or mean is None or (run is not None and rows["run"][row] != run):
                continue
            if any(values[key][row] != value for key, value in where.items()):
                continue
            label = [f"{key.rpartition('.')[2]} {values[key][row]}" for key in others]
            if run is None and len(runs) > 1:
                label.append(str(rows["run"][row]))
            curves.setdefault(", ".join(label), []).append((numbers[int(point) - 1], mean, rows[width][row]))
        if not curves:
            known = ", ".join(dict.fromkeys(rows["name"]))
            raise KeyError(f"{name!r} has no {metric} here; there are the flows, ports and workloads {known}")
        return curves

    def __str__(self) -> str:
        return self._report.text(120)

    def __repr__(self) -> str:
        return f"<tidegate.SweepResults of {self.table.shape[0]} rows in {str(self.folder)!r}>"

    def _repr_html_(self) -> str:
        """The page in a frame, for Jupyter."""
        return framed(self.html())


def sweep(
    file: str | PathLike[str],
    axes: Mapping[str, str | Sequence[Value]] | Sequence[str] | None = None,
    *,
    out: str | PathLike[str],
    design: str | None = None,
    points: int | None = None,
    seed: int | None = None,
    replications: int | None = None,
    independent: bool = False,
    until: str | None = None,
    changes: Mapping[str, Value | Sequence[Any]] | None = None,
    on: str | Executor = "local",
    jobs: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> SweepResults:
    """Simulate the scenario in `file` at many points, as `tidegate sweep` does, and return the results.

    `axes` takes the place of the file's: a dict from keys to lists of values or to text such as `"1..10 Mbit/s/4"`, or texts as `--axis` takes
    them. `changes` are other values for keys of the file. `design`, `points`, `seed`, `replications`, `independent` and `until`
    (`"voice.delay_p99_s=5%"`) are the options of the command.

    Every point is one file in the folder `out`, complete once it has its name. Points that are there are not run again, so the same call goes on
    with a sweep that was interrupted; the command goes on with it too.

    `on` says where points run:

    * `"local"`: on the cores of this machine, `jobs` points at a time.
    * `"ray"`: tasks of Ray with one CPU each. A task whose worker dies runs again, up to three times. `ray.init` is called if it was not.
    * `"dask"`: `dask.compute`, with the scheduler that Dask is configured for: the current `distributed.Client`, or threads.
    * an object with `submit`: `distributed.Client`, or an executor of `concurrent.futures`.

    Elsewhere than here, every machine has this version of the package, and sees `file` and `out` under the same paths.

    `progress` is called with the fraction of the missing points that is done, from 0 to 1; with `"dask"` only at the end. Raises ScenarioError for what
    cannot be swept, ValueError for another `on`, RuntimeError if points have no table at the end, and what `progress` or the executor raises.
    Ctrl-C ends the sweep.
    """
    if isinstance(on, str) and on not in ("local", "ray", "dask"):
        raise ValueError(f'on is {on!r}; it is "local", "ray", "dask" or an object with `submit`')
    given = {"design": design, "points": points, "seed": seed, "replications": replications, "until": until, "jobs": jobs}
    words = [str(Path(file).absolute()), "--out", str(Path(out).absolute())]
    words += [f"--axis={axis}" for axis in _axes(axes)]
    words += [f"--{option}={value}" for option, value in given.items() if value is not None]
    words += ["--independent"] if independent else []
    words += [f"--set={change(key, value)}" for key, value in (changes or {}).items()]
    study = _tidegate.Sweep(words)
    missing = study.missing()
    study.begin(missing)
    if on == "local":
        study.run(missing, progress)
    else:
        for number, _ in enumerate(_elsewhere(on, words, missing)):
            if progress is not None:
                progress((number + 1) / len(missing))
    lacking = study.missing()
    if lacking:
        raise RuntimeError(f"{len(lacking)} of {study.points} points have no table in {out}, the first of which is point {lacking[0]}; call sweep again")
    return SweepResults(study.finish(), Path(out))


def _axes(axes: Mapping[str, str | Sequence[Value]] | Sequence[str] | None) -> Iterator[str]:
    """The axes as `--axis` takes them."""
    if isinstance(axes, str):
        raise TypeError("axes is a dict or a list; put the text in a list")
    if not isinstance(axes, Mapping):
        yield from axes or ()
        return
    for key, values in axes.items():
        yield f"{key}={values if isinstance(values, str) else ','.join(_text(value) for value in values)}"


def _text(value: Value) -> str:
    """A value within a list of values."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if any(character in value for character in ',"[]{}') else value
    return json.dumps(value)


def _point(words: list[str], number: int, call: str) -> int:
    """Run one point of a sweep, in a worker; the answer is its number. `call` makes tasks of two calls differ, for executors that keep answers."""
    study = _tidegate.Sweep([*words, "--jobs=1"])
    study.begin([number])
    study.run([number], None)
    return number


def _elsewhere(on: str | Executor, words: list[str], missing: list[int]) -> Iterator[int]:
    """Run points in workers; the points that are done, one by one."""
    call = uuid.uuid4().hex
    if on == "ray":
        yield from _on_ray(words, missing, call)
    elif on == "dask":
        dask: Any = import_module("dask")
        yield from dask.compute(*(dask.delayed(_point)(words, point, call) for point in missing))
    else:
        assert not isinstance(on, str)
        futures: list[Future] = [on.submit(_point, words, point, call) for point in missing]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def _on_ray(words: list[str], missing: list[int], call: str) -> Iterator[int]:
    ray: Any = import_module("ray")
    task = ray.remote(num_cpus=1, max_retries=3)(_point)
    pending = [task.remote(words, point, call) for point in missing]
    try:
        while pending:
            done, pending = ray.wait(pending)
            yield from ray.get(done)
    finally:
        for left in pending:
            ray.cancel(left)


_WORDS = {
    "throughput_bps": "throughput",
    "loss": "loss",
    "delay_mean_s": "mean delay",
    "delay_p50_s": "median delay",
    "delay_p99_s": "99 % delay",
    "delay_p999_s": "99.9 % delay",
    "delay_max_s": "largest delay",
    "jitter_s": "jitter",
    "goodput_bps": "goodput",
    "occupancy_mean_bytes": "mean occupancy",
    "occupancy_max_bytes": "largest occupancy",
    "paused_s": "time paused",
    "pauses": "pauses",
    "completion_mean_s": "mean completion time",
    "completion_p99_s": "99 % completion time",
    "slowdown_mean": "mean slowdown",
    "slowdown_p99": "99 % slowdown",
}

_UNITS = {
    "bps": [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")],
    "s": [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
    "bytes": [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes")],
    "share": [(0.01, "%")],
}


def _unit(metric: str) -> str:
    """The unit at the end of a column's name, or none."""
    unit = metric.rpartition("_")[2]
    return unit if unit in _UNITS else ""


def _half_width(metric: str) -> str:
    """The column of the half widths of a metric's intervals."""
    unit = _unit(metric)
    return f"{metric.removesuffix('_' + unit)}_half_width_{unit}" if unit else f"{metric}_half_width"


def _scale(unit: str | None, values: Sequence[float]) -> tuple[float, str]:
    """What the values of an axis are divided by, and their unit behind a label."""
    units = _UNITS.get(unit or "")
    if units is None:
        return 1.0, ""
    largest = max(abs(value) for value in values)
    scale, name = next((one for one in units if largest >= one[0]), units[-1])
    return scale, f" ({name})"
