"""What a machine forwards."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from tidegate import _tidegate
from tidegate._results import Table, framed
from tidegate._scenario import change


class Capacity:
    """How much a machine forwards without loss, what limits it, and how long packets take at parts of that rate."""

    def __init__(self, found: _tidegate.Capacity) -> None:
        """`model` makes one."""
        self._found = found

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return self._found.sentence

    @property
    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`: rates in packets and bits per second, times in seconds."""
        found: dict[str, Any] = json.loads(self._found.summary_json())
        return found

    @property
    def delays(self) -> Table:
        """The tail of the delay of every flow at every load: `load`, `flow`, `packets_per_second`, `delay_s` and `share_beyond`, a row per point."""
        return self._found.delays()

    @property
    def promises_kept(self) -> bool:
        """True if every promise of the file was kept."""
        return self._found.promises_kept

    def html(self) -> str:
        """The page of results, which opens without a network."""
        return self._found.html()

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write the folder that `tidegate model --out` writes, and return the paths of its files. Raises OSError."""
        return self._found.save(folder)

    def __str__(self) -> str:
        return self._found.text(120)

    def __repr__(self) -> str:
        return f"<tidegate.Capacity: {self.sentence}>"

    def _repr_html_(self) -> str:
        """The page in a frame, for Jupyter."""
        return framed(self.html())


def model(
    path: str | PathLike[str],
    changes: Mapping[str, str | float | bool | Sequence[Any]] | None = None,
    *,
    seed: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Capacity:
    """Ask how much the machine of a machine file forwards, by trials on all cores, as `tidegate model` does.

    `changes` has other values for dotted keys of the file, such as `{"machine.clock": "2 GHz"}`; `seed` (0 to 2^64 - 1) takes the place of the
    file's. `progress` is called in this thread with the fraction that is done, from 0 to 1; an exception that it raises ends the trials after those
    that run. So does Ctrl-C, with KeyboardInterrupt. Raises ScenarioError for a file that cannot be used or has no flows.
    """
    lines = [change(key, value) for key, value in (changes or {}).items()]
    return Capacity(_tidegate.model(path, lines, seed, progress))
