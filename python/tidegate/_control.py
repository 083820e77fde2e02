"""Questions and changes to a running `tidegate live`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any

from tidegate import _tidegate


class Control:
    """The control socket of a running bridge. Each call is a connection of its own.

    Every call raises ConnectionError if no bridge answers in time, and ValueError with the bridge's text if it refuses.
    """

    def __init__(self, socket: str | PathLike[str], timeout_s: float = 60.0) -> None:
        """The bridge at the Unix socket `socket`; an answer may take up to `timeout_s` seconds."""
        self._socket = socket
        self._timeout_s = timeout_s

    def ask(self, request: str | Mapping[str, Any]) -> Any:
        """Send a request of the control protocol, such as `"status"` or `{"set": {"values": [...]}}`; return its answer."""
        return json.loads(_tidegate.ask_json(self._socket, json.dumps(request), self._timeout_s))

    def status(self) -> dict[str, Any]:
        """How the bridge is: `uptime_s`, interfaces, counters."""
        answer: dict[str, Any] = self.ask("status")["status"]
        return answer

    def set(self, key: str, value: str | float | bool) -> dict[str, Any]:
        """Carry on with another value for a dotted key of the file; return what the change did."""
        answer: dict[str, Any] = self.ask({"set": {"values": [f"{key}={json.dumps(value, ensure_ascii=False)}"]}})
        return answer

    def rollback(self) -> dict[str, Any]:
        """Take the latest change back; return what that did."""
        answer: dict[str, Any] = self.ask("rollback")
        return answer
