"""The extension module. Use the names of `tidegate` in place of these."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, final

__version__: str

class ScenarioError(ValueError):
    """A scenario or policy file that cannot be used.

    The text is that of the command. `file`, `line` and `column` (both from 1) are those of the first error, or None.
    """

    file: str | None
    line: int | None
    column: int | None

@final
class Scenario:
    """A scenario or policy file that has been read and checked."""

    @staticmethod
    def from_file(path: str | PathLike[str], changes: Sequence[str]) -> Scenario:
        """Read a file and apply changes of the form "key=value". Raises ScenarioError."""

    @staticmethod
    def from_text(name: str, text: str, changes: Sequence[str]) -> Scenario:
        """Read a text as a file of this name and apply changes of the form "key=value". Raises ScenarioError."""

    @property
    def title(self) -> str:
        """The title of the file."""

    @property
    def variants(self) -> list[str]:
        """The names of the variants, in the order of the file."""

    @property
    def warnings(self) -> str | None:
        """What is probably not meant, as the command prints it; None if there is nothing."""

    def check(self, everything: bool) -> str:
        """Describe what is in the file."""

    def bounds_json(self, flow: str | None) -> str:
        """What is proven before a packet is sent, as JSON. Raises ScenarioError."""

    def run(self, seed: int | None, replications: int | None, progress: Callable[[float], object] | None) -> Report:
        """Simulate every variant. Raises ScenarioError."""

@final
class Report:
    """What a simulation measured."""

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""

    @property
    def promises_kept(self) -> bool:
        """True if every promise of the first variant was kept."""

    def table(self, name: str) -> Table:
        """The table of this name. Raises KeyError."""

    def summary_json(self) -> str:
        """The summary, as JSON."""

    def html(self) -> str:
        """The page, as HTML."""

    def text(self, width: int) -> str:
        """The tables of the command, for a terminal of this number of columns."""

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write the folder that `tidegate run --out` writes; return the paths of its files. Raises OSError."""

@final
class Sweep:
    """A sweep, ready to run."""

    def __new__(cls, arguments: Sequence[str]) -> Sweep:
        """The sweep that `tidegate sweep` runs with these arguments. Raises ScenarioError."""

    @property
    def points(self) -> int:
        """The number of points."""

    def missing(self) -> list[int]:
        """The points, from 1, whose table is not there."""

    def begin(self, points: Sequence[int]) -> None:
        """Check these points and begin the folder. Raises ScenarioError."""

    def run(self, points: Sequence[int], progress: Callable[[float], object] | None) -> None:
        """Run these points in a folder that was begun, and write the table of each. Raises ScenarioError."""

    def finish(self) -> SweepReport:
        """Read the tables of all points, and write `table.parquet` and `report.html`. Raises ScenarioError."""

@final
class SweepReport:
    """What a sweep measured."""

    @property
    def title(self) -> str:
        """The title of the scenario."""

    @property
    def axes(self) -> list[tuple[str, str | None, list[float] | None]]:
        """Of each axis its key, and the unit and the values of its numbers, one per point.

        The unit is `bps`, `s`, `bytes` or empty; unit and values are None if the values of the axis are not all numbers of one kind.
        """

    def table(self) -> Table:
        """The table, as `table.parquet` has it."""

    def html(self) -> str:
        """The page, as HTML."""

    def text(self, width: int) -> str:
        """The table of the command, for a terminal of this number of columns."""

@final
class Table:
    """A table as Arrow."""

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    def values(self, column: str) -> list[Any]:
        """The values of a column: text, numbers or booleans, None for nulls. Raises KeyError."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as a capsule of an ArrowArrayStream; `requested_schema` is not looked at."""

def ask_json(socket: str | PathLike[str], request: str, timeout_s: float) -> str:
    """Send a request, as JSON, to the bridge at this socket; return its answer as JSON.

    Raises ConnectionError if no bridge answers, and ValueError if it refuses.
    """

def run_command(arguments: Sequence[str]) -> int:
    """Run the command `tidegate`; the first argument is the program's name. Return its exit code."""

def schema_json() -> str:
    """The JSON Schema of scenario and policy files, as JSON."""

def toml_of_json(json: str) -> str:
    """Python objects, given as JSON, as the text of a scenario file. Raises ScenarioError."""
