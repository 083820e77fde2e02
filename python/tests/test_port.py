"""Ports that are driven packet by packet, and schedulers that are written in Python."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import pytest

import tidegate

SCENARIOS = Path(__file__).parents[2] / "scenarios"

POLICY = """
[policy.access]
rate = "8 Mbit/s"
overhead = "none"
scheduler = "{scheduler}"
buffer = {{ manager = "tail-drop", limit = "30 kB" }}
[[policy.access.class]]
name = "voice"
match = [{{ dscp = "ef" }}]
{voice}
[[policy.access.class]]
name = "rest"
{rest}
"""


def policy(scheduler: str = "fifo", voice: str = "", rest: str = "") -> tidegate.Scenario:
    """A link of 8 Mbit/s, a byte in a microsecond, with two classes."""
    return tidegate.Scenario.from_text(POLICY.format(scheduler=scheduler, voice=voice, rest=rest))


class Fifo(tidegate.Scheduler):
    """First come, first served, by the numbers of heads."""

    def __init__(self) -> None:
        self.heads: dict[int, tidegate.Head] = {}
        self.queues: Sequence[tuple[str, int]] = ()

    def begin(self, queues: Sequence[tuple[str, int]]) -> None:
        self.queues = queues

    def activate(self, now_s: float, queue: int, head: tidegate.Head) -> None:
        self.heads[queue] = head

    def select(self, now_s: float) -> int | tidegate.Wait:
        return min(self.heads, key=lambda queue: self.heads[queue].number)

    def served(self, now_s: float, queue: int, next_head: tidegate.Head | None) -> None:
        if next_head is None:
            del self.heads[queue]
        else:
            self.heads[queue] = next_head

    def lost(self, now_s: float, queue: int, next_head: tidegate.Head | None) -> None:
        self.served(now_s, queue, next_head)


class DeficitRoundRobin(tidegate.Scheduler):
    """Deficit round robin of Shreedhar and Varghese: a queue that begins its turn gets a quantum, and sends as long as its deficit lasts."""

    def __init__(self, quanta_bytes: Sequence[int]) -> None:
        self.quanta = quanta_bytes
        self.deficit = [0] * len(quanta_bytes)
        self.heads: dict[int, tidegate.Head] = {}
        self.turns: deque[int] = deque()
        self.begun = False

    def activate(self, now_s: float, queue: int, head: tidegate.Head) -> None:
        self.heads[queue] = head
        self.deficit[queue] = 0
        self.turns.append(queue)

    def select(self, now_s: float) -> int | tidegate.Wait:
        for _ in range(len(self.turns) + 1):
            queue = self.turns[0]
            if not self.begun:
                self.deficit[queue] += self.quanta[queue]
                self.begun = True
            if self.heads[queue].length_bytes <= self.deficit[queue]:
                return queue
            self.turns.rotate(-1)
            self.begun = False
        raise AssertionError("it is asked while a queue is backlogged")

    def served(self, now_s: float, queue: int, next_head: tidegate.Head | None) -> None:
        self.deficit[queue] -= self.heads[queue].length_bytes
        self.replace(queue, next_head)

    def lost(self, now_s: float, queue: int, next_head: tidegate.Head | None) -> None:
        self.replace(queue, next_head)

    def replace(self, queue: int, head: tidegate.Head | None) -> None:
        if head is not None:
            self.heads[queue] = head
            return
        del self.heads[queue]
        if self.turns[0] == queue:
            self.begun = False
        self.turns.remove(queue)


def test_packets_leave_at_the_rate_of_the_link() -> None:
    port = tidegate.Port(policy())
    assert port.queues == [("voice", 0), ("rest", 0)]
    assert port.offer(0.0, "rest", 1000, payload="first") == []
    assert port.offer(0.0, "voice", 500, payload=2)[0].payload == "first"
    assert port.next_s == 0.001 and port.backlog("voice") == (1, 500)
    sent = port.advance(0.001)
    assert [(packet.packet_class, packet.at_s, packet.finish_s, packet.payload) for packet in sent] == [("voice", 0.001, 0.0015, 2)]
    assert (sent[0].arrival_s, sent[0].reason, sent[0].colour, sent[0].ecn, sent[0].queue) == (0.0, None, "green", "not-ect", 0)
    assert port.next_s is None and "0 packets" in repr(port) and "sent from 0.001 s" in repr(sent[0])


def test_a_full_buffer_drops_with_its_reason() -> None:
    port = tidegate.Port(policy())
    left = [packet for number in range(40) for packet in port.offer(0.0, "rest", 1000, payload=number)]
    assert [packet.payload for packet in left if packet.reason is None] == [0]
    assert [(packet.payload, packet.reason, packet.finish_s) for packet in left[1:]] == [(number, "shared-limit", None) for number in range(31, 40)]
    left += port.drain()
    counters = port.counters
    assert counters["offered_packets"] == len(left) == 40
    assert counters["offered_bytes"] == counters["sent_bytes"] + counters["dropped_bytes"] == 40_000
    assert counters["queued_packets"] == counters["marked_packets"] == 0


def test_a_frame_finds_its_class() -> None:
    port = tidegate.Port(policy("strict-priority", "priority = 0", "priority = 1"))
    addresses = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    frame = bytes(12) + b"\x08\x00" + bytes([0x45, 46 << 2, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0]) + addresses + bytes([0, 53, 0, 53, 0, 8, 0, 0])
    assert port.classify(frame) == ("voice", 0) and port.classify(bytes(60)) == ("rest", 0)
    port.offer_frame(0.0, bytes(60), payload="other")
    port.offer_frame(0.0, bytes(60))
    port.offer_frame(0.0, frame)
    assert [packet.payload for packet in port.drain()] == [frame, bytes(60)]


def test_a_schedulers_wake_up_is_never_early() -> None:
    shaped = policy("strict-priority", 'priority = 0\nshape = { rate = "333 kbit/s", burst = "1518 B" }', "priority = 1")
    port = tidegate.Port(shaped)
    for number in range(60):
        port.offer(900_000.0, "voice", 1000, payload=number)
    calls = 0
    sent: list[tidegate.Departure] = []
    while (due := port.next_s) is not None:
        sent += port.advance(due)
        calls += 1
        assert calls <= 120, "the port asked for an instant at which nothing was due"
    assert [packet.payload for packet in sent] == sorted(packet.payload for packet in sent)


@pytest.mark.parametrize("seed", range(8))
def test_deficit_round_robin_in_python_serves_as_the_built_in_one(seed: int) -> None:
    built = tidegate.Port(policy("drr", "weight = 1", "weight = 2"))
    taught = tidegate.Port(policy(), scheduler=DeficitRoundRobin([1518, 2 * 1518]))
    draw = random.Random(seed)
    now = 0.0
    served: tuple[list[tuple[object, float, str | None]], list[tuple[object, float, str | None]]] = ([], [])
    for number in range(1500):
        now += draw.choice([0.0, draw.expovariate(2500), draw.expovariate(600)])
        packet_class, length = draw.choice(["voice", "rest"]), draw.randint(64, 1518)
        for port, seen in zip((built, taught), served):
            seen += [(packet.payload, packet.at_s, packet.reason) for packet in port.offer(now, packet_class, length, payload=number)]
    for port, seen in zip((built, taught), served):
        seen += [(packet.payload, packet.at_s, packet.reason) for packet in port.drain()]
    assert served[0] == served[1] and len(served[0]) == 1500
    assert any(reason for _, _, reason in served[0]), "the buffer was never full"


def test_a_python_scheduler_may_wait() -> None:
    class Late(Fifo):
        """Nothing leaves before 10 ms."""

        def select(self, now_s: float) -> int | tidegate.Wait:
            return tidegate.Wait(0.010) if self.heads and now_s < 0.010 else super().select(now_s)

    scheduler = Late()
    port = tidegate.Port(policy(), scheduler=scheduler)
    assert scheduler.queues == [("voice", 0), ("rest", 0)]
    port.offer(0.001, "rest", 1000)
    assert port.advance(0.002) == [] and port.next_s == 0.010
    assert [packet.at_s for packet in port.advance(0.020)] == [0.010]
    assert repr(tidegate.Wait(0.01)) == "tidegate.Wait(0.01)"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (1, "named queue 1, which holds no packet"),
        (7, "named queue 7"),
        (None, "returned None while 1 queues"),
        (tidegate.Wait(0.0), "has to be after"),
        (-1, "returned -1"),
        ("voice", "returned 'voice'"),
    ],
)
def test_an_answer_that_breaks_a_law_is_refused(answer: object, expected: str) -> None:
    class Wrong(Fifo):
        """Answers what it is told to."""

        def select(self, now_s: float) -> int | tidegate.Wait:
            return answer  # type: ignore[return-value]

    port = tidegate.Port(policy(), scheduler=Wrong())
    port.offer(0.0, "voice", 100)
    with pytest.raises((ValueError, TypeError), match=expected):
        port.advance(0.0)
    with pytest.raises(RuntimeError, match="make another port"):
        port.advance(1.0)


def test_what_a_scheduler_raises_is_raised() -> None:
    class Broken(Fifo):
        """Fails at its first packet."""

        def activate(self, now_s: float, queue: int, head: tidegate.Head) -> None:
            raise ZeroDivisionError(f"{head.length_bytes} {head.colour} {head.number}")

    port = tidegate.Port(policy(), scheduler=Broken())
    with pytest.raises(ZeroDivisionError, match="100 green 0"):
        port.offer(0.0, "voice", 100)


def test_a_scheduler_cannot_call_its_port() -> None:
    class Nosy(Fifo):
        """Asks the port that asks it."""

        port: tidegate.Port

        def select(self, now_s: float) -> int | tidegate.Wait:
            return len(self.port.advance(now_s))

    scheduler = Nosy()
    scheduler.port = tidegate.Port(policy(), scheduler=scheduler)
    scheduler.port.offer(0.0, "voice", 100)
    with pytest.raises(RuntimeError, match="borrowed"):
        scheduler.port.advance(0.0)


def test_bad_calls_say_what_would_be_right() -> None:
    port = tidegate.Port(policy())
    with pytest.raises(KeyError, match="voice, rest"):
        port.offer(0.0, "video", 100)
    with pytest.raises(ValueError, match="no queue 1"):
        port.offer(0.0, "voice", 100, queue=1)
    with pytest.raises(ValueError, match="green"):
        port.offer(0.0, "voice", 100, colour="blue")
    with pytest.raises(ValueError, match="ect0"):
        port.offer(0.0, "voice", 100, ecn="ect")
    with pytest.raises(ValueError, match="1 to 67108863"):
        port.offer(0.0, "voice", 0)
    for instant in (-1.0, float("nan"), 2e6):
        with pytest.raises(ValueError, match="0 to 1000000 s"):
            port.advance(instant)
    port.advance(1.0)
    with pytest.raises(ValueError, match="never goes back"):
        port.offer(0.5, "voice", 100)
    with pytest.raises(tidegate.ScenarioError, match="acces"):
        tidegate.Port(policy(), "acces")


def frame_of(draw: random.Random) -> bytes:
    """An Ethernet frame of UDP with a code point, ports and a length that are drawn."""
    payload = bytes(draw.choice([18, 200, 1200, 1472]))
    traffic_class = draw.choice([0, 0x22, 0xB8]) | draw.choice([0, 0, 1, 2])
    udp = draw.choice([53, 5004, 16384]).to_bytes(2, "big") + draw.randint(1, 9).to_bytes(2, "big") + (8 + len(payload)).to_bytes(2, "big") + bytes(2)
    length = (28 + len(payload)).to_bytes(2, "big")
    header = bytes([0x45, traffic_class]) + length + bytes(4) + bytes([64, 17, 0, 0]) + bytes([10, 0, 0, draw.randint(1, 4), 10, 0, 0, 9])
    return bytes(12) + b"\x08\x00" + header + udp + payload


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("file", "policy_name"),
    [
        ("policies/media-uplink.toml", None),
        ("policies/minimum-rates.toml", None),
        ("bufferbloat.toml", "down"),
        ("l4s.toml", "down"),
        ("policing-tcm.toml", "edge"),
    ],
)
def test_what_is_offered_leaves_once_and_in_the_order_of_its_queue(file: str, policy_name: str | None, seed: int) -> None:
    port = tidegate.Port(tidegate.Scenario.from_file(SCENARIOS / file), policy_name)
    draw = random.Random(seed)
    now, left = 0.0, list[tidegate.Departure]()
    for number in range(1500):
        now += draw.choice([0.0, 0.0, 0.0001, draw.expovariate(100)])
        left += port.offer_frame(now, frame_of(draw), payload=number)
        counters = port.counters
        assert counters["offered_packets"] == number + 1 == len(left) + counters["queued_packets"]
    left += port.drain()
    assert sorted(packet.payload for packet in left) == list(range(1500))
    sent = [packet for packet in left if packet.reason is None]
    assert len(sent) == port.counters["sent_packets"] > 0
    free = 0.0
    for packet in sent:
        assert packet.arrival_s <= packet.at_s and free <= packet.at_s and packet.finish_s is not None
        free = packet.finish_s
    for queue in set((packet.packet_class, packet.queue) for packet in sent):
        numbers = [packet.payload for packet in sent if (packet.packet_class, packet.queue) == queue]
        assert numbers == sorted(numbers)
