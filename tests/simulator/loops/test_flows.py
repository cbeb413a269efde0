"""The event loop gives what a slow one in exact fractions gives."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

from simulator import Cluster
from simulator.loops import flows
from simulator.machines.routing import Routes
from simulator.machines.topology import Links
from simulator.predictions.prediction import Messages, run_messages
from tests.thorough import examples

NANOSECOND = Fraction(1, 10**9)


@dataclasses.dataclass(frozen=True)
class Table:
    """A routing that says of each pair of devices which links it takes."""

    rows: tuple[tuple[tuple[int, ...], ...], ...]

    def routes(self, source, target):
        routes = [self.rows[a][b] for a, b in zip(source, target, strict=True)]
        return Routes(np.cumsum([0, *map(len, routes)]), np.array([link for way in routes for link in way], np.int64))


@dataclasses.dataclass(frozen=True)
class Case:
    """Messages on a network, in whole bytes, bytes per second and nanoseconds."""

    bandwidth: list[int]  # of each link
    latency: list[int]
    routes: Table
    messages: list[tuple[int, int, int, int]]  # source, target, size, step; the steps in order
    begin: list[int]  # of each device
    sharing: str


@generators.composite
def cases(draw):
    links, devices = draw(generators.integers(1, 6)), draw(generators.integers(2, 6))
    # Few different numbers, so that many things happen at one time.
    time = generators.sampled_from([0, 1, 2, 500, 1000, 123_457])
    way = generators.lists(generators.integers(0, links - 1), unique=True, max_size=4).map(tuple)
    row = generators.tuples(*[way] * devices)
    pair = generators.permutations(range(devices)).map(lambda order: tuple(order[:2]))
    size = generators.sampled_from([0, 1, 1000, 2000, 4096, 10**6 + 3])
    message = generators.tuples(pair, size, generators.integers(0, 4)).map(lambda one: (*one[0], *one[1:]))
    return Case(
        draw(
            generators.lists(
                generators.sampled_from([10**8, 10**9, 2 * 10**9, 123_456_789]), min_size=links, max_size=links
            )
        ),
        draw(generators.lists(time, min_size=links, max_size=links)),
        Table(draw(generators.tuples(*[row] * devices))),
        sorted(draw(generators.lists(message, max_size=14)), key=lambda one: one[3]),
        draw(generators.lists(time, min_size=devices, max_size=devices)),
        draw(generators.sampled_from(["equal", "latency"])),
    )


class Reference:
    """Message by message, event by event: no heaps, no lists of users, no rounding."""

    def __init__(self, case):
        self.case = case
        self.routes = [case.routes.rows[source][target] for source, target, *_ in case.messages]
        self.latency = [sum((case.latency[link] * NANOSECOND for link in way), Fraction()) for way in self.routes]
        self.weight = [
            1 / latency if case.sharing == "latency" and latency else Fraction(1) for latency in self.latency
        ]
        self.left = [Fraction(size) for _, _, size, _ in case.messages]
        self.todo = [self.steps_of(device) for device in range(len(case.begin))]
        self.present = [set() for _ in case.begin]  # of each device: the messages of the step it is in
        self.done = [begin * NANOSECOND for begin in case.begin]
        self.first = [None] * len(case.messages)
        self.last = [None] * len(case.messages)

    def steps_of(self, device):
        """The messages of a device, step by step."""
        own = [index for index, message in enumerate(self.case.messages) if device in message[:2]]
        steps = sorted({self.case.messages[index][3] for index in own})
        return [{index for index in own if self.case.messages[index][3] == step} for step in steps]

    def run(self):
        now = Fraction()
        while True:
            while self.happens(now):
                pass
            rates = self.rates([index for index in range(len(self.left)) if self.flows(index, now)])
            ends = [
                self.first[index] + self.latency[index] for index in range(len(self.left)) if self.waits(index, now)
            ]
            begins = [begin * NANOSECOND for begin in self.case.begin]
            arrivals = [now + self.left[index] / rate for index, rate in rates.items()]
            later = [time for time in (*ends, *begins, *arrivals) if time > now]
            if not later:
                return self
            for index, rate in rates.items():
                self.left[index] -= rate * (min(later) - now)
            now = min(later)

    def happens(self, now):
        """Let everything happen that can happen now, once, and say whether anything did."""
        changed = False
        for device, steps in enumerate(self.todo):
            if steps and not self.present[device] and self.case.begin[device] * NANOSECOND <= now:
                self.present[device] = steps.pop(0)
                changed = True
        for index, (source, target, *_) in enumerate(self.case.messages):
            if self.first[index] is None and index in self.present[source] & self.present[target]:
                self.first[index] = now
                changed = True
            if self.flows(index, now) and (self.left[index] == 0 or not self.routes[index]):
                self.last[index] = self.done[source] = self.done[target] = now
                self.present[source].discard(index)
                self.present[target].discard(index)
                changed = True
        return changed

    def waits(self, index, now):
        return self.first[index] is not None and now < self.first[index] + self.latency[index]

    def flows(self, index, now):
        return self.first[index] is not None and self.last[index] is None and not self.waits(index, now)

    def rates(self, flowing):
        """Let all rates grow together, each by its weight, until a link is full; then all others; and so on."""
        rates = dict.fromkeys(flowing, Fraction())
        spare = [Fraction(bandwidth) for bandwidth in self.case.bandwidth]
        growing = set(flowing)
        while growing:
            load = {
                link: sum(self.weight[one] for one in growing if link in self.routes[one]) for link in range(len(spare))
            }
            more = min(spare[link] / load[link] for link in load if load[link])
            for one in growing:
                rates[one] += more * self.weight[one]
            spare = [spare[link] - more * load[link] for link in load]
            growing = {one for one in growing if all(spare[link] for link in self.routes[one])}
        return rates


@given(case=cases())
@settings(max_examples=examples(100, 300), deadline=None)
def test_messages_arrive_when_exact_fractions_say(case):
    links = tuple(
        Links("link", 1, float(bandwidth), float(latency * NANOSECOND))
        for bandwidth, latency in zip(case.bandwidth, case.latency, strict=True)
    )
    cluster = Cluster("any", len(case.begin), links, case.routes, sharing=case.sharing)
    columns = np.array(case.messages).reshape(-1, 4).T
    messages = Messages(
        columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2] * 1.0, columns[3].astype(np.int32)
    )
    first, last = np.full(columns.shape[1], -1.0), np.full(columns.shape[1], -1.0)
    begin = np.array([float(begin * NANOSECOND) for begin in case.begin])

    done, carried, count = run_messages(cluster, messages, begin, first, last)

    expected = Reference(case).run()
    assert len(case.messages) == count
    assert [float(time) for time in expected.done] == pytest.approx(done.tolist(), rel=1e-9)
    assert [float(time) for time in expected.first] == pytest.approx(first.tolist(), rel=1e-9)
    assert [float(time) for time in expected.last] == pytest.approx(last.tolist(), rel=1e-9)
    for link, load in enumerate(carried):
        assert load == sum(
            size for (_, _, size, _), way in zip(case.messages, expected.routes, strict=True) if link in way
        )


def test_one_compiled_loop_serves_those_who_ask_for_the_times_of_messages_and_those_who_do_not():
    cluster = Cluster.star(2, 1e9, 1e-6)
    ends = np.array([0, 1], np.int32)
    messages = Messages(ends, ends[::-1].copy(), np.ones(2), np.zeros(2, np.int32))
    first, last = np.zeros(2), np.zeros(2)

    asked, _, _ = run_messages(cluster, messages, np.zeros(2), first, last)
    unasked, _, _ = run_messages(cluster, messages, np.zeros(2))

    assert asked.tolist() == unasked.tolist() == last.tolist()
    assert {"array(float64, 1d, C)"} == {str(signature[-1]) for signature in flows.play.signatures}
