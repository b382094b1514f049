"""Faults of tcptrace. Each is known by what it takes to make tcptrace right (docs/analyze.md).

Most faults have a cure: a change of the capture that takes away what tcptrace stumbles over and leaves what happened. A difference is such
a fault if both programs say the same about the cured capture. If the cure changes nothing that is asked, dumbbell's result must stay as it
was. The other faults show in a number that follows from the capture.
"""

import ipaddress
import struct
import tempfile
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import tcptrace
from record_tcptrace import pcap

from dumbbell.trace import analyze
from dumbbell.trace.connections import format_endpoint

_FIN, _SYN, _RST, _ACK = 1, 2, 4, 16
_SCALE, _SACK = 3, 5
_MOST_SCALE = 14
_TCP, _IPV4, _IPV6 = 6, b"\x08\x00", b"\x86\xdd"
_IP = 14
"""Start of the IP header."""
_IPV6_HEADER = 40
_ORIGIN = 2**16
"""Start of moved sequence numbers: neither 0, nor near where tcptrace divides them."""
_RAISE = 12_345
_QUADRANT = 2**30
"""Step at which tcptrace divides sequence numbers, into four."""
_US = 1000
_FROM_ZERO = {"initial_window_bytes", "initial_window_pkts", "duplicate_acks", "triple_dupacks"}
_BY_TIME = {"post-loss_acks", "ambiguous_acks"}
"""With those of RTTs: whether an ACK gives one depends on what was sent after its segment."""
_MINIMA = {"RTT_min", "RTT_min_(last)", "RTT_full_sz_min", "min_retr_time"}
_ZERO_MINIMUM = "a minimum of 0 taken for none"
_WINDOWS = {"adv_wind_scale", "max_win_adv", "min_win_adv", "avg_win_adv"}


class Segment(NamedTuple):
    """Content of a frame."""

    source: tuple
    target: tuple
    seq: int
    ack: int
    bits: int
    window: int
    payload: int
    at: int
    """Start of the TCP header."""
    end: int
    """End of the TCP segment."""
    options: bytes

    @property
    def numbers(self):
        """The sequence numbers that it takes."""
        return self.payload + bool(self.bits & _SYN) + bool(self.bits & _FIN)

    def each_option(self):
        """Yield the start of each option in the frame, its kind, its length."""
        at = 0
        while at + 1 < len(self.options) and self.options[at] != 0:
            kind, length = self.options[at], self.options[at + 1]
            if kind == 1:
                at += 1
                continue
            if length < 2:
                return
            yield self.at + 20 + at, kind, length
            at += length


def segment(content):
    """The TCP segment in a frame; None if it has none."""
    if content[12:14] == _IPV4 and content[23] == _TCP:
        at, total, hosts = _IP + (content[_IP] & 15) * 4, struct.unpack_from(">H", content, 16)[0], content[26:34]
    elif content[12:14] == _IPV6 and content[20] == _TCP:
        at, total, hosts = _IP + _IPV6_HEADER, _IPV6_HEADER + struct.unpack_from(">H", content, 18)[0], content[22:54]
    else:
        return None
    source, target, seq, ack, offset, bits, window = struct.unpack_from(">HHIIBBH", content, at)
    end = at + (offset >> 4) * 4
    half = len(hosts) // 2
    return Segment(
        (hosts[:half], source), (hosts[half:], target), seq, ack, bits, window, _IP + total - end, at, end, content[at + 20 : end]
    )


def segments(records):
    """Return each record with TCP, and its segment."""
    return [(record, found) for record in records if (found := segment(record[3]))]


def _above(number, other):
    """By how much a sequence number is above another, across the wrap."""
    return (number - other + 2**31) % 2**32 - 2**31


def in_microseconds(records):
    """The capture as tcptrace keeps its times."""
    return [(seconds, ns // _US * _US, *rest) for seconds, ns, *rest in records]


def without_lone_numbers(records):
    """The capture without the segments that take one sequence number, and without FINs, which make a segment larger than its payload."""
    kept = []
    for record in records:
        *rest, content = record
        found = segment(content)
        if found and found.bits & _FIN:
            content = content[: found.at + 13] + bytes([found.bits & ~_FIN]) + content[found.at + 14 :]
            found = found._replace(bits=found.bits & ~_FIN)
        if not found or found.numbers != 1:
            kept.append((*rest, content))
    return kept


def raised(records):
    """The capture with all sequence numbers raised by the same, so that those that were 0 are not."""
    return _renumbered(records, lambda _: _RAISE)


def moved(records):
    """The capture with the sequence numbers of each direction that has a multiple of 2^30 moved, so that the minimum is `_ORIGIN`."""
    first, least, most = {}, {}, {}
    for _, found in segments(records):
        for way, number in (((found.source, found.target), found.seq), ((found.target, found.source), found.ack)):
            if way[0] == found.source or found.bits & _ACK:
                base = first.setdefault(way, number)
                least[way] = min(least.get(way, 0), _above(number, base))
                most[way] = max(most.get(way, 0), _above(number, base))
    by = {
        way: _ORIGIN - least[way] - base
        for way, base in first.items()
        if (base + least[way]) // _QUADRANT != (base + most[way]) // _QUADRANT
    }
    return _renumbered(records, lambda way: by.get(way, 0))


def _renumbered(records, by):
    """The capture with the sequence numbers of each direction raised by `by` of it."""

    def changed(content, found):
        frame = bytearray(content)
        own, other = by((found.source, found.target)), by((found.target, found.source))
        struct.pack_into(">I", frame, found.at + 4, (found.seq + own) % 2**32)
        if found.bits & _ACK:
            struct.pack_into(">I", frame, found.at + 8, (found.ack + other) % 2**32)
        for at, kind, length in found.each_option():
            if kind == _SACK and at + length <= len(frame):
                for place in range(at + 2, at + length, 4):
                    struct.pack_into(">I", frame, place, (struct.unpack_from(">I", frame, place)[0] + other) % 2**32)
        return bytes(frame)

    return [(*rest, changed(content, found) if (found := segment(content)) else content) for *rest, content in records]


def _highest(records):
    """Yield each record with TCP and ACK: the record, its segment, the previous segment of that end with an ACK, and the highest number
    before."""
    highest, latest = {}, {}
    for record, found in segments(records):
        way = (found.source, found.target)
        if found.bits & _ACK:
            yield record, found, latest.get(way), highest.get(way)
            latest[way] = found
            if way not in highest or _above(found.ack, highest[way]) > 0:
                highest[way] = found.ack


def without_old_answers_to_syns(records):
    """The capture where an ACK of a SYN alone that comes after one of more is one of more, too."""
    syns = {(found.target, found.source): found.seq for _, found in segments(records) if found.bits & _SYN}
    newer = {
        id(record): record[3][: found.at + 8] + struct.pack(">I", highest) + record[3][found.at + 12 :]
        for record, found, _, highest in _highest(records)
        if highest is not None and (found.source, found.target) in syns
        if found.ack == (syns[found.source, found.target] + 1) % 2**32 and _above(highest, found.ack) > 0
    }
    return [(*record[:3], newer.get(id(record), record[3])) for record in records]


def without_syns_after_fins(records):
    """The capture without the SYNs that come after a FIN or RST between the same ends."""
    closed, kept = set(), []
    for record in records:
        found = segment(record[3])
        ends = frozenset((found.source, found.target)) if found else None
        if found and found.bits & (_FIN | _RST):
            closed.add(ends)
        if not (found and found.bits & _SYN and ends in closed):
            kept.append(record)
    return kept


def without_old_repetitions(records):
    """The capture without the ACKs that repeat the one before, when one of more has come already."""
    old = {
        id(record)
        for record, found, latest, highest in _highest(records)
        if latest and _above(highest, found.ack) > 0 and (found.ack, found.window, found.payload) == (latest.ack, latest.window, 0)
    }
    return [record for record in records if id(record) not in old]


def with_bounded_scales(records):
    """The capture with the most that an end may offer to scale by."""
    kept = []
    for *rest, content in records:
        frame, found = bytearray(content), segment(content)
        for at, kind, _ in found.each_option() if found else ():
            if kind == _SCALE and at + 2 < len(frame):
                frame[at + 2] = min(frame[at + 2], _MOST_SCALE)
        kept.append((*rest, bytes(frame)))
    return kept


class Cure(NamedTuple):
    """A change of a capture that takes a fault away."""

    change: object
    asked: object
    """Function that is true if the fault concerns a field."""
    is_neutral: bool
    """True if dumbbell's values of these fields must not change."""


CURES = {
    "segments of one number, and FINs": Cure(without_lone_numbers, lambda field: field.startswith("RTT_full_sz"), False),
    "RTT from 3WHS of another segment": Cure(without_old_answers_to_syns, lambda field: field == "RTT_from_3WHS", True),
    "duplicates of old ACKs": Cure(without_old_repetitions, lambda field: field in ("duplicate_acks", "triple_dupacks"), True),
    "a SYN after a FIN taken for another connection": Cure(without_syns_after_fins, lambda field: field == "connections", True),
    "a shift count above 14": Cure(with_bounded_scales, lambda field: field in _WINDOWS, True),
    "a number of 0 taken for none": Cure(raised, lambda field: field in _FROM_ZERO, True),
    "segments across a multiple of 2^30": Cure(moved, lambda field: field != "dsack_pkts_sent", True),
    "SACK blocks across the wrap": Cure(moved, lambda field: field == "dsack_pkts_sent", True),
    "by design, times within a microsecond": Cure(in_microseconds, lambda field: field in _BY_TIME or "RTT_" in field, False),
}
"""In the order in which they are applied."""


class Compared:
    """A capture, tcptrace's and dumbbell's results for it, and the reason why they differ."""

    def __init__(self, records):
        """Runs both."""
        self.records = records
        self._cured = {}
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            file.write(pcap(records))
            file.flush()
            self.known = tcptrace.by_ends(analyze(file.name).rows())
            self.found = tcptrace.differences(tcptrace.run(file.name), self.known)
        self._between = {}
        for each in self.found:
            self._between.setdefault(each[:2], []).append(each)

    @cached_property
    def faults(self):
        """`(fault, difference)` of each difference; None for the fault if there is none that explains it."""
        return [(self._told(*difference) or self._curing(*difference[:3]), difference) for difference in self.found]

    def _after(self, names):
        if not names:
            return self
        if names not in self._cured:
            records = self.records
            for name in names:
                records = CURES[name].change(records)
            self._cured[names] = Compared(records)
        return self._cured[names]

    def _of(self, source, target, field):
        """Return the differences in a field of a direction; all of them, if ports were reused."""
        return [each for each in self._between.get((source, target), ()) if each[2] in (field, "connections")]

    def _curing(self, source, target, field):
        names = [name for name, cure in CURES.items() if cure.asked(field)]
        for chosen in (each for count in (1, 2, 3) for each in combinations(names, count)):
            left = self._after(chosen)._of(source, target, field)
            neutral = self._after(tuple(name for name in chosen if CURES[name].is_neutral))
            if all(_is_zero_minimum(*each[2:]) for each in left) and neutral._ours(source, target, field) == self._ours(
                source, target, field
            ):
                return " and ".join([*chosen, *([_ZERO_MINIMUM] if left else [])])
        return None

    def _ours(self, source, target, field):
        """Return dumbbell's values of a field of a direction, of each connection between the two."""
        return [said.get(field) for said in self.known.get((source, target), ())]

    def _told(self, source, target, field, theirs, ours):
        if _is_zero_minimum(field, theirs, ours):
            return _ZERO_MINIMUM
        if field == "truncated_data" and int(theirs) - ours == self._cut_options.get((source, target)):
            return "options taken for payload"
        if field == "connections" and ours - theirs == self._overlooked_syns.get((source, target)):
            return "a first SYN of another number overlooked"
        if field in _WINDOWS:
            return self._forgotten_scale(source, target, field, theirs, ours)
        return None

    @cached_property
    def _cut_options(self):
        """Bytes of options that were cut in packets with payload, by direction."""
        cut = {}
        for record, found in segments(self.records):
            way = _name(found.source), _name(found.target)
            cut[way] = cut.get(way, 0) + max(found.end - len(record[3]), 0) * (found.payload > 0)
        return cut

    @cached_property
    def _overlooked_syns(self):
        """Between two ends: SYNs that ask for a connection, where one with another number and neither a FIN nor a RST was before."""
        latest, seen = {}, {}
        for _, found in segments(self.records):
            ends = frozenset((found.source, found.target))
            if found.bits & (_FIN | _RST):
                latest.pop(ends, None)
            elif found.bits & (_SYN | _ACK) == _SYN and latest.setdefault(ends, found.seq) != found.seq:
                latest[ends] = found.seq
                for way in ((found.source, found.target), (found.target, found.source)):
                    named = (_name(way[0]), _name(way[1]))
                    seen[named] = seen.get(named, 0) + 1
        return seen

    def _forgotten_scale(self, source, target, field, theirs, ours):
        shift = self._forgotten.get((source, target))
        if not shift:
            return None
        right = (int(theirs), ours) == (0, shift) if field == "adv_wind_scale" else 0 <= ours - (int(theirs) << shift) < 1 << shift
        return "a scale forgotten before the second SYN" if right else None

    @cached_property
    def _forgotten(self):
        """The shift count of the directions of which both SYNs offer to scale, and a packet without SYN came between them."""
        offered, forgotten = {}, set()
        for _, found in segments(self.records):
            way, back = (found.source, found.target), (found.target, found.source)
            if found.bits & _SYN:
                for at, kind, _ in found.each_option():
                    if kind == _SCALE:
                        offered[way] = found.options[at - found.at - 18]
                forgotten.discard(way)
            elif way not in offered or back not in offered:
                forgotten |= {way, back} & set(offered)
        return {(_name(way[0]), _name(way[1])): offered[way] for way in forgotten if way[::-1] in offered}


def _name(end):
    return format_endpoint((str(ipaddress.ip_address(end[0])), end[1]))


def _is_zero_minimum(field, theirs, ours):
    """tcptrace shows the next greater: times are microseconds there, so that what is less is 0."""
    return field in _MINIMA and ours is not None and ours < 1e-3 < float(theirs)
