"""A port that Python drives packet by packet, and schedulers that are written in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tidegate import _tidegate
from tidegate._scenario import Scenario

Departure = _tidegate.Departure
Head = _tidegate.Head
Wait = _tidegate.Wait


class Scheduler(ABC):
    """A scheduler that is written in Python, for a `Port`: it decides whose packet is next, and not before when.

    Queues are numbered from 0. A scheduler learns of a queue when the queue gets a head, and knows the `Head` alone. A queue is backlogged from
    `activate` until `served` or `lost` with None as next head. Instants are in seconds and never go back.

    What a method raises is raised by the call of the port, and every later call of that port raises RuntimeError. An answer of `select` that
    names a queue without packets or waits for no later instant is a ValueError in the same way. A scheduler cannot call its own port.
    """

    def begin(self, queues: Sequence[tuple[str, int]]) -> None:
        """A port begins: `queues` has, by number of the queue, the name of its class and its number within the class."""

    @abstractmethod
    def activate(self, now_s: float, queue: int, head: Head) -> None:
        """An empty queue has got a head."""

    @abstractmethod
    def select(self, now_s: float) -> int | Wait:
        """Decide: the number of a backlogged queue, whose head leaves now, or Wait for a later instant, in seconds.

        It is asked while a queue is backlogged. Asked again at the same instant without another call in between, it has to answer the same.
        """

    @abstractmethod
    def served(self, now_s: float, queue: int, next_head: Head | None) -> None:
        """The head of the queue that `select` has named leaves; `next_head` follows it."""

    @abstractmethod
    def lost(self, now_s: float, queue: int, next_head: Head | None) -> None:
        """The head of a queue has gone without being sent, which must not be charged; `next_head` is in its place."""


class Port:
    """An output port of a policy, driven packet by packet: policers, AQMs, buffer and scheduler, as in simulations and bridges.

    Instants are in seconds from 0 to a million, rounded to the nearest picosecond (which a number resolves up to 1,000 s). They never go back.
    Every call returns what left the port since the call before, in order: packets whose transmission has started, and packets that were dropped.
    The delay and loss of the link behind the port, code points that the policy sets, and changes of the file at times are not part of it.
    """

    def __init__(self, scenario: Scenario, policy: str | None = None, scheduler: Scheduler | None = None) -> None:
        """The port of the policy of this name, or of the only one; empty at 0 s. `scheduler` takes the place of the policy's own.

        Raises ScenarioError for an unknown policy, or one that sends cells.
        """
        self._port = _tidegate.Port(scenario._scenario, policy, scheduler)  # pyright: ignore[reportPrivateUsage]
        self._queues = self._port.queues
        self._first: dict[str, int] = {}
        for number, (packet_class, _) in enumerate(self._queues):
            self._first.setdefault(packet_class, number)

    @property
    def queues(self) -> list[tuple[str, int]]:
        """By number of the queue: the name of its class, and its number within the class, from 0."""
        return list(self._queues)

    @property
    def next_s(self) -> float | None:
        """The instant in seconds at which `advance` has to be called next; None if nothing is queued."""
        return self._port.next_s

    def offer(
        self,
        now_s: float,
        packet_class: str,
        length_bytes: int,
        *,
        queue: int = 0,
        colour: str = "green",
        ecn: str = "not-ect",
        payload: object = None,
    ) -> list[Departure]:
        """Offer a packet of `length_bytes` (the frame, without the overhead of the link) to the class of this name; return what left.

        What is due up to `now_s` leaves first. `queue` is its number within the class; `colour` is `"green"`, `"yellow"` or `"red"`; `ecn` is
        `"not-ect"`, `"ect0"`, `"ect1"` or `"ce"`. The packet itself leaves with a later `advance`, or is in the list with the reason for which it
        was dropped. `payload` is any object, which leaves with the packet. Raises KeyError for an unknown class, and ValueError for a value out of
        range or an instant before the last call.
        """
        return self._port.offer(now_s, self._number(packet_class, queue), length_bytes, colour, ecn, payload)

    def offer_frame(self, now_s: float, frame: bytes, payload: object = None) -> list[Departure]:
        """Offer an Ethernet frame, without its check sequence, whose headers bring it into a class; return what left, as `offer` does.

        Without `payload` the frame itself is the payload. The frame leaves as it came.
        """
        return self._port.offer_frame(now_s, frame, frame if payload is None else payload)

    def classify(self, frame: bytes) -> tuple[str, int]:
        """The class of an Ethernet frame, and the number of its queue within it."""
        return self._queues[self._port.classify(frame)]

    def advance(self, now_s: float) -> list[Departure]:
        """Start every transmission that is due up to and including `now_s`, each at its own instant; return what left."""
        return self._port.advance(now_s)

    def drain(self) -> list[Departure]:
        """Advance until nothing is queued; return what left. A policy that never lets a packet go makes this endless; Ctrl-C ends it."""
        left: list[Departure] = []
        while (due := self._port.next_s) is not None:
            left += self._port.advance(due)
        return left

    def backlog(self, packet_class: str, queue: int = 0) -> tuple[int, int]:
        """The packets and the bytes in a queue of a class. Raises KeyError for an unknown class."""
        return self._port.backlog(self._number(packet_class, queue))

    @property
    def counters(self) -> dict[str, int]:
        """`offered`, `sent`, `dropped`, `queued` and `marked`, each as `_packets` and `_bytes`; offered = sent + dropped + queued."""
        return self._port.counters()

    def _number(self, packet_class: str, queue: int) -> int:
        first = self._first.get(packet_class)
        if first is None:
            raise KeyError(f"the port has no class {packet_class!r}; it has {', '.join(self._first)}")
        number = first + queue
        if queue < 0 or number >= len(self._queues) or self._queues[number][0] != packet_class:
            raise ValueError(f"class {packet_class!r} has no queue {queue}")
        return number

    def __repr__(self) -> str:
        counters = self.counters
        return f"<tidegate.Port with {counters['queued_packets']} packets queued>"
