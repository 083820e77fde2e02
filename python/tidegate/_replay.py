"""Captures through a policy."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

from tidegate._results import Results
from tidegate._scenario import Scenario


def replay(
    scenario: Scenario | str | PathLike[str],
    capture: str | PathLike[str],
    *,
    policy: str | None = None,
    interface: str | None = None,
    until_damage: bool = False,
    ack_filter: str | None = None,
    sent: str | PathLike[str] | None = None,
    dropped: str | PathLike[str] | None = None,
    progress: Callable[[float], object] | None = None,
) -> Results:
    """Push a capture through a policy in virtual time, as `tidegate replay` does; what happened is in `classes` and `ports` of the results.

    `scenario` is a Scenario or the path of a file, `policy` the name of one of its policies (not needed if it has one), and `capture` a pcap or
    pcapng file, compressed with gzip or zstd or not. `interface` takes only packets of that interface, by name or number from 0. `until_damage` uses
    what is before damage in the middle of the capture. `ack_filter` is `"conservative"` or `"aggressive"`, and drops acknowledgements of TCP that say
    nothing new. `sent` and `dropped` are paths for captures of what left and what was dropped, with new timestamps and reasons.

    `progress` is called in this thread with the fraction that is done, from 0 to 1; an exception that it raises ends the replay. So does Ctrl-C, with
    KeyboardInterrupt. Raises ScenarioError for a file, a policy, an interface or a capture that cannot be used.
    """
    read = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)
    request = {
        "capture": capture,
        "policy": policy,
        "interface": interface,
        "until_damage": until_damage,
        "ack_filter": ack_filter,
        "sent": sent,
        "dropped": dropped,
    }
    return Results(read._scenario.replay(request, progress))  # pyright: ignore[reportPrivateUsage]
