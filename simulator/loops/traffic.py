"""What the event loop over messages knows, as tuples of plain arrays."""

from typing import Any, NamedTuple


class Sent(NamedTuple):
    """Of each message: the devices that send it and get it, its bytes, and which route it takes."""

    source: Any
    target: Any
    size: Any
    route: Any


class RouteTable(NamedTuple):
    """Of each route: where its links begin, its latency, and how much of a shared link it gets relative to others."""

    start: Any
    links: Any
    latency: Any
    weight: Any


class Own(NamedTuple):
    """The messages that each device sends or receives, in the order of its rounds."""

    message: Any
    round: Any  # of each of these messages
    start: Any  # where the messages of each device begin
    repeat: Any  # how often each round happens


class Progress(NamedTuple):
    """How far devices have come."""

    done: Any  # when each had all messages of its last round
    at: Any  # where the messages of its next round are
    times: Any  # how often it has entered that round
    pending: Any  # how many of the present round have not arrived
    coming: Any  # devices that enter a round now
    met: Any  # of each message, how many of its two devices have come


class Slots(NamedTuple):
    """Messages under way, each in a slot, and a heap of the slots by the times of their next events."""

    message: Any
    flowing: Any
    left: Any  # bytes still to come
    rate: Any
    since: Any  # when `left` was true
    due: Any  # its next event
    heap: Any
    place: Any  # of each slot in the heap
    free: Any  # as many as the heap is short of being full


class Users(NamedTuple):
    """Of each link, the messages that flow through it: a doubly linked list of nodes, `hops` for each slot."""

    hops: Any
    head: Any
    after: Any
    ahead: Any
    touched: Any  # links whose messages have changed
    is_touched: Any


class Near(NamedTuple):
    """The links and slots that have to do with each other, and how they share bandwidth."""

    links: Any
    slots: Any
    seen_link: Any  # the turn in which a link was looked at last
    seen_slot: Any
    bandwidth: Any
    spare: Any
    users: Any  # how many messages of a link have no new rate yet
    load: Any  # their weights together
    rate: Any  # the new rate of each slot
