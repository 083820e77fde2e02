"""Scenario and policy files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any

from tidegate import _tidegate
from tidegate._results import Results


class Scenario:
    """A scenario or policy file that has been read and checked. It never changes: `set` returns another one.

    It can be pickled, which sends its file's name or its text to another process. That process reads it anew.
    """

    def __init__(self, read: Callable[[Sequence[str]], _tidegate.Scenario], changes: Sequence[str] = ()) -> None:
        """Call one of `from_file`, `from_text` and `from_dict` instead."""
        self._read = read
        self._changes = tuple(changes)
        self._scenario = read(self._changes)

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Scenario:
        """Read the file at `path`. Raises ScenarioError."""
        return cls(partial(_tidegate.Scenario.from_file, path))

    @classmethod
    def from_text(cls, text: str, name: str = "<text>") -> Scenario:
        """Read TOML. Errors call the text `name`; it cannot name captures or other files. Raises ScenarioError."""
        return cls(partial(_tidegate.Scenario.from_text, name, text))

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any], name: str = "<dict>") -> Scenario:
        """Read dicts, lists, strings and numbers with the keys of a file. Raises ScenarioError, and TypeError for other objects.

        The lines of errors are those of the TOML that the objects become.
        """
        return cls.from_text(_toml(tables), name)

    def set(self, key: str, value: str | float | bool | Sequence[Any]) -> Scenario:
        """The same file with another value for a dotted key, such as `"policy.access.rate"` and `"5 Mbit/s"`.

        Raises ScenarioError if the key does not exist or does not take the value.
        """
        return type(self)(self._read, (*self._changes, change(key, value)))

    def set_all(self, changes: Mapping[str, str | float | bool | Sequence[Any]]) -> Scenario:
        """The same file with other values for several dotted keys, which need to be right only together. Raises ScenarioError as `set` does."""
        return type(self)(self._read, (*self._changes, *(change(key, value) for key, value in changes.items())))

    @property
    def title(self) -> str:
        """The title of the file."""
        return self._scenario.title

    @property
    def variants(self) -> list[str]:
        """The names of the variants, in the order of the file."""
        return self._scenario.variants

    @property
    def warnings(self) -> str | None:
        """What is probably not meant, as `tidegate check` prints it; None if there is nothing."""
        return self._scenario.warnings

    def check(self, everything: bool = False) -> str:
        """Describe what is in the file, as `tidegate check` does; long lists in full with `everything`."""
        return self._scenario.check(everything)

    def bounds(self, flow: str | None = None) -> dict[str, Any]:
        """What is proven before a packet is sent, as `tidegate bounds --json` has it.

        The end of a key is its unit: `_ps` picoseconds, `_s` seconds, `_bits`, `_bytes`, `_bps` bits per second.
        With `flow`, all that is proven of the flow of this name. Raises ScenarioError for an unknown flow.
        """
        return _object(self._scenario.bounds_json(flow))

    def admit(self, flow: Mapping[str, Any], variant: str | None = None) -> dict[str, Any]:
        """Ask whether a further flow can be proven its promise beside those of the file, as `tidegate admit --json` does; nothing is simulated.

        `flow` has the keys of a `[[flow]]`, with a `source` or its declared `traffic`; `variant` is the one that it joins, instead of the first. In the
        answer `admitted` is True or False, `bound` what is proven of the flow, `promises` its own, and `offers` what would be admitted instead. The end
        of a key is its unit: `_ps` picoseconds, `_bits`. Raises ScenarioError for a flow or a file that cannot be used, and TypeError as `from_dict`.
        """
        return _object(self._scenario.admit_json("<flow>", _toml(flow), variant))

    def run(
        self,
        seed: int | None = None,
        replications: int | None = None,
        progress: Callable[[float], object] | None = None,
    ) -> Results:
        """Simulate every variant on all cores, without the GIL.

        `seed` (0 to 2^64 - 1) and `replications` (1 to 100,000) take the place of the file's. `progress` is called in this thread with the
        fraction that is done, from 0 to 1; an exception that it raises ends the simulation. So does Ctrl-C, with KeyboardInterrupt.
        Raises ScenarioError for a policy file, which has nothing to simulate, and ValueError for another number of replications.
        """
        if replications is not None and not 1 <= replications <= 100_000:
            raise ValueError(f"replications is {replications}; it is from 1 to 100000")
        return Results(self._scenario.run(seed, replications, progress))

    def __reduce__(self) -> tuple[type[Scenario], tuple[Callable[[Sequence[str]], _tidegate.Scenario], Sequence[str]]]:
        return type(self), (self._read, self._changes)

    def __repr__(self) -> str:
        return f"<tidegate.Scenario {self.title!r}>"


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario and policy files."""
    return _object(_tidegate.schema_json())


def _toml(tables: Mapping[str, Any]) -> str:
    """Python objects as the text of a file."""
    try:
        text = json.dumps(tables)
    except (TypeError, ValueError) as error:
        raise TypeError(f"a file has dicts with text as keys, lists, text, numbers and booleans: {error}") from None
    return _tidegate.toml_of_json(text)


def change(key: str, value: str | float | bool | Sequence[Any]) -> str:
    """A change of a key, as the command line has it."""
    return f"{key}={json.dumps(value, ensure_ascii=False)}"


def _object(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found
