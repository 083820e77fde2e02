"""The extension module. Use the names of `tidegate` in place of these."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, final

__all__ = [
    "__version__",
    "ScenarioError",
    "Scenario",
    "Report",
    "Sweep",
    "SweepReport",
    "Table",
    "Capacity",
    "Port",
    "Departure",
    "Head",
    "Wait",
    "model",
    "ask_json",
    "run_command",
    "toml_of_json",
    "schema_json",
]

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

    def admit_json(self, name: str, flow: str, variant: str | None) -> str:
        """Whether a flow, given as TOML, can be proven its promise beside those of the file, as JSON. Raises ScenarioError."""

    def run(self, seed: int | None, replications: int | None, progress: Callable[[float], object] | None) -> Report:
        """Simulate every variant. Raises ScenarioError."""

    def replay(self, request: Mapping[str, object], progress: Callable[[float], object] | None) -> Report:
        """Push a capture through a policy; `request` has the arguments of `tidegate.replay`. Raises ScenarioError."""

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

        The unit is `bps`, `s`, `bytes`, `share` or empty; unit and values are None if the values of the axis are not all numbers of one kind.
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

@final
class Capacity:
    """What a machine forwards."""

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""

    @property
    def promises_kept(self) -> bool:
        """True if everything that was promised held."""

    def delays(self) -> Table:
        """The table of delays."""

    def summary_json(self) -> str:
        """The summary, as JSON."""

    def html(self) -> str:
        """The page, as HTML."""

    def text(self, width: int) -> str:
        """The tables of the command, for a terminal of this number of columns."""

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write the folder that `tidegate model --out` writes; return the paths of its files. Raises OSError."""

@final
class Port:
    """An output port, whose queues are numbered from 0; instants are in seconds."""

    def __new__(cls, scenario: Scenario, policy: str | None, scheduler: object | None) -> Port:
        """A port of a policy of the scenario, empty at 0 s, with its own scheduler or this object. Raises ScenarioError."""

    @property
    def queues(self) -> list[tuple[str, int]]:
        """By number of the queue: the name of its class, and its number within the class."""

    @property
    def next_s(self) -> float | None:
        """When it has to be advanced next, in seconds; None if nothing is queued."""

    def backlog(self, queue: int) -> tuple[int, int]:
        """The number of packets and of bytes in a queue. Raises ValueError for an unknown queue."""

    def offer(
        self, now_s: float, queue: int, length_bytes: int, colour: str, ecn: str, payload: object
    ) -> list[Departure]:
        """Take in a packet of a length in bytes for a queue, after everything that is due; return what left. Raises ValueError."""

    def offer_frame(self, now_s: float, frame: bytes, payload: object) -> list[Departure]:
        """Take in an Ethernet frame, which its headers bring into a queue; return what left. Raises ValueError."""

    def classify(self, frame: bytes) -> int:
        """The number of the queue of an Ethernet frame."""

    def advance(self, now_s: float) -> list[Departure]:
        """Start every transmission that is due up to and including `now_s`; return what left. Raises ValueError."""

    def counters(self) -> dict[str, int]:
        """Packets and bytes that were offered, sent, dropped, marked, and are queued."""

@final
class Departure:
    """A packet that has left a port: it was sent, or dropped."""

    @property
    def packet_class(self) -> str:
        """The name of its class."""

    @property
    def queue(self) -> int:
        """The number of its queue within the class, from 0."""

    @property
    def length_bytes(self) -> int:
        """The length of the frame in bytes, without the overhead of the link."""

    @property
    def colour(self) -> str:
        """Its colour when it left: "green", "yellow" or "red"."""

    @property
    def ecn(self) -> str:
        """Its code point when it left: "not-ect", "ect0", "ect1" or "ce"."""

    @property
    def arrival_s(self) -> float:
        """When it was offered, in seconds."""

    @property
    def at_s(self) -> float:
        """When its transmission started or it was dropped, in seconds."""

    @property
    def finish_s(self) -> float | None:
        """When its last bit leaves, in seconds; None if it was dropped."""

    @property
    def reason(self) -> str | None:
        """Why it was dropped, such as "flow-limit", "policed" or "congestion"; None if it was sent."""

    @property
    def payload(self) -> Any:
        """The object that it was offered with."""

@final
class Head:
    """What a scheduler knows of the packet at the head of a queue."""

    @property
    def length_bytes(self) -> int:
        """Its length on the wire in bytes, with the overhead of the link."""

    @property
    def arrival_s(self) -> float:
        """When it was offered, in seconds."""

    @property
    def colour(self) -> str:
        """Its colour: "green", "yellow" or "red"."""

    @property
    def number(self) -> int:
        """Its number among all packets that were queued at the port, modulo 2^32."""

@final
class Wait:
    """The answer of a scheduler that nothing may leave before an instant."""

    def __new__(cls, until_s: float) -> Wait:
        """Nothing may leave before `until_s`, in seconds. Raises ValueError for an instant outside 0 to a million seconds."""

    @property
    def until_s(self) -> float:
        """The instant, in seconds."""

def model(
    path: str | PathLike[str], changes: Sequence[str], seed: int | None, progress: Callable[[float], object] | None
) -> Capacity:
    """Ask how much the machine of a file forwards, after changes of the form "key=value". Raises ScenarioError."""

def ask_json(socket: str | PathLike[str], request: str, timeout_s: float) -> str:
    """Send a request, as JSON, to the bridge at this socket; return its answer as JSON.

    Raises ConnectionError if no bridge answers within `timeout_s` seconds, and ValueError if it refuses.
    """

def run_command(arguments: Sequence[str]) -> int:
    """Run the command `tidegate`; the first argument is the program's name. Return its exit code."""

def schema_json() -> str:
    """The JSON Schema of scenario and policy files, as JSON."""

def toml_of_json(json: str) -> str:
    """Python objects, given as JSON, as the text of a scenario file. Raises ScenarioError."""
