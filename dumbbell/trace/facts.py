"""The facts of one direction of a connection: names, tcptrace's names, and meanings."""

from __future__ import annotations

from typing import NamedTuple


class Fact(NamedTuple):
    """A column of `Analysis.connections`."""

    name: str
    label: str
    """In the long table: tcptrace's word where it has the fact."""
    meaning: str


_TIMES = (
    Fact("elapsed_s", "elapsed time (s)", "from the first to the last packet of the connection, either way"),
    Fact("first_s", "first packet (s)", "earliest time of a packet"),
    Fact("last_s", "last packet (s)", "latest time of a packet"),
)
_VOLUME = (
    Fact("packets", "total packets", "packets"),
    Fact("resets", "resets sent", "packets with RST"),
    Fact("ack_packets", "ack pkts sent", "packets with ACK"),
    Fact("pure_acks", "pure acks sent", "packets with ACK, and neither payload nor SYN, FIN, RST"),
    Fact("sack_packets", "sack pkts sent", "packets with SACK blocks"),
    Fact("dsack_packets", "dsack pkts sent", "those whose first block is of what was received twice (RFC 2883)"),
    Fact("sack_blocks_max", "max sack blks/ack", "most SACK blocks in a packet"),
    Fact("unique_bytes", "unique bytes sent", "payload, each sequence number once, without probes of a closed window"),
    Fact("data_packets", "actual data pkts", "packets with payload"),
    Fact("bytes", "actual data bytes", "payload, retransmissions included"),
    Fact("retransmitted_packets", "rexmt data pkts", "packets with a byte that an earlier packet had; SYN and FIN count as a byte"),
    Fact("retransmitted_bytes", "rexmt data bytes", "these bytes"),
    Fact(
        "spurious_retransmissions",
        "spurious rexmt pkts",
        "retransmissions that were not needed: reported twice by a D-SACK, answered with a timestamp from before, acknowledged already, "
        "or, without timestamps, answered sooner than any segment",
    ),
    Fact("zero_window_probes", "zwnd probe pkts", "packets with payload or FIN into a closed window"),
    Fact("zero_window_probe_bytes", "zwnd probe bytes", "their payload"),
    Fact("out_of_order_packets", "outoforder pkts", "packets below what was seen before, with something new"),
    Fact("reordering_max_bytes", "max reordering (bytes)", "the furthest that one of these was below the highest number"),
    Fact("reordering_max_ms", "max reordering (ms)", "the longest that one of these came after the packet above it"),
    Fact("pushed_packets", "pushed data pkts", "packets with payload and PSH"),
    Fact("syns", "SYN pkts sent", "packets with SYN"),
    Fact("fins", "FIN pkts sent", "packets with FIN"),
    Fact("urgent_packets", "urgent data pkts", "packets with payload and URG"),
    Fact("stream_bytes", "ttl stream length", "bytes between SYN and FIN (after a reset: to the latest packet); null without one of them"),
    Fact("missed_bytes", "missed data", "those of the stream that no packet carried"),
    Fact("cut_bytes", "truncated data", "payload that was not captured (a small snap length)"),
    Fact("cut_packets", "truncated packets", "packets of which some payload was not captured"),
    Fact("data_time_s", "data xmit time (s)", "from the first to the last packet with payload"),
    Fact("idle_max_ms", "idletime max (ms)", "longest time between two packets; of an open connection also to the end of the capture"),
    Fact("average_mbit", "throughput (Mbit/s)", "unique bytes over the elapsed time of the connection"),
    Fact("throughput_mbit", "data rate (Mbit/s)", "unique bytes over the time from the first to the last packet with payload"),
)
_WINDOWS = (
    Fact("window_scale", "adv wind scale", "shift count that the SYN offers"),
    Fact("timestamps", "req 1323 ts", "packets have the Timestamps option"),
    Fact("sack_permitted", "req sack", "the SYN offers SACK"),
    Fact("mss", "mss requested", "maximum segment size that the SYN offers"),
    Fact("segment_max_bytes", "max segm size", "largest payload"),
    Fact("segment_min_bytes", "min segm size", "smallest payload"),
    Fact("segment_avg_bytes", "avg segm size", "mean payload"),
    Fact("window_max_bytes", "max win adv", "largest window that the packets advertise; scaled if both SYNs were seen to offer a scale"),
    Fact("window_min_bytes", "min win adv", "smallest that is not zero"),
    Fact("window_avg_bytes", "avg win adv", "mean over all packets, scaled ones alone if windows are scaled"),
    Fact("zero_windows", "zero win adv", "ACKs that advertise none"),
    Fact("initial_window_bytes", "initial window (bytes)", "payload before the first answer to payload"),
    Fact("initial_window_packets", "initial window (pkts)", "its packets"),
    Fact("outstanding_max_bytes", "max owin", "most data sent and not acknowledged"),
    Fact("outstanding_avg_bytes", "wavg owin", "its mean over time"),
)
_RTTS = (
    Fact("rtt_samples", "RTT samples", "ACKs that end where a segment does that was sent once, and nothing below it later"),
    Fact("rtt_min_ms", "RTT min", "time from the segment to its ACK"),
    Fact("rtt_avg_ms", "RTT avg", "likewise"),
    Fact("rtt_max_ms", "RTT max", "likewise"),
    Fact("rtt_stdev_ms", "RTT stdev", "likewise; 0 of fewer than three"),
    Fact("rtt_full_samples", "RTT full_sz smpls", "those of the largest segments that gave one"),
    Fact("rtt_full_min_ms", "RTT full_sz min", "likewise"),
    Fact("rtt_full_avg_ms", "RTT full_sz avg", "likewise"),
    Fact("rtt_full_max_ms", "RTT full_sz max", "likewise"),
    Fact("rtt_full_stdev_ms", "RTT full_sz stdev", "likewise"),
    Fact("ambiguous_acks", "ambiguous acks", "ACKs that end a segment that was sent more than once"),
    Fact("rtt_last_min_ms", "RTT min (last)", "their time since its last transmission"),
    Fact("rtt_last_avg_ms", "RTT avg (last)", "likewise"),
    Fact("rtt_last_max_ms", "RTT max (last)", "likewise"),
    Fact("rtt_last_stdev_ms", "RTT sdv (last)", "likewise"),
    Fact("resent_gaps", "retr times", "retransmissions of what waited for its ACK"),
    Fact("resent_gap_min_ms", "min retr time", "time from one transmission to the next"),
    Fact("resent_gap_avg_ms", "avg retr time", "likewise"),
    Fact("resent_gap_max_ms", "max retr time", "likewise"),
    Fact("resent_gap_stdev_ms", "sdv retr time", "likewise"),
    Fact("rtt_p5_ms", "RTT 5th percentile", "of the samples, to 0.4 %"),
    Fact("rtt_median_ms", "RTT median", "likewise"),
    Fact("rtt_p95_ms", "RTT 95th percentile", "likewise"),
    Fact("rtt_syn_ms", "RTT from 3WHS", "RTT of the SYN"),
    Fact("post_loss_acks", "post-loss acks", "ACKs that end a segment below which something was sent later"),
    Fact("cumulative_acks", "segs cum acked", "segments that an ACK covers besides the one that it ends"),
    Fact("duplicate_acks", "duplicate acks", "ACKs without payload that repeat number and window"),
    Fact("triple_duplicate_acks", "triple dupacks", "third ones in a row"),
    Fact("resent_times_max", "max # retrans", "maximum number of retransmissions of one segment"),
)
_CONGESTION = (
    Fact("ect0_packets", "ECT(0) pkts", "packets marked ECT(0)"),
    Fact("ect1_packets", "ECT(1) pkts", "packets marked ECT(1): marks of SCE, or senders of L4S"),
    Fact("ce_packets", "CE pkts", "packets marked CE"),
    Fact("ece_packets", "ECE pkts", "packets with ECE, SYNs apart"),
    Fact("cwr_packets", "CWR pkts", "packets with CWR, SYNs apart"),
    Fact("ae_packets", "AE pkts", "packets with AE (echoes of SCE), SYNs apart"),
    Fact("accurate_ecn", "AccECN", "the SYNs agree on AccECN (RFC 9768): AE, CWR and ECE are a counter"),
    Fact("ace_marks", "ACE marks", "CE marks that the counter in the packets reports"),
    Fact("accecn_ect1_bytes", "AccECN ECT(1) bytes", "bytes that came with ECT(1), as the option of AccECN reports"),
    Fact("accecn_ce_bytes", "AccECN CE bytes", "bytes that came with CE, as the option of AccECN reports"),
    Fact("accecn_ect0_bytes", "AccECN ECT(0) bytes", "bytes that came with ECT(0), as the option of AccECN reports"),
    Fact("accecn_hidden_marks", "AccECN hidden marks", "marks that three bits hid where ACKs were thinned, by the option"),
    Fact("held_application_s", "held by application (s)", "time in which the application had nothing to send"),
    Fact("held_receiver_s", "held by receiver (s)", "time in which the advertised window had no room"),
    Fact("held_sender_s", "held by sender (s)", "time in which the sender's buffer was full"),
    Fact("held_congestion_s", "held by congestion (s)", "time in which the congestion window was"),
    Fact("held_episodes", "loss or mark rounds", "rounds with a retransmission or an echo of a mark"),
    Fact("held_pauses", "pauses", "times that nothing was in flight"),
    Fact("held_closings", "window full", "times that the window had no room"),
    Fact("held_level_bytes", "level (bytes)", "most data in flight in a round, to a segment"),
    Fact("held_level_rounds", "rounds at level", "rounds at that level, eight or more in a row"),
)
FACTS = (*_TIMES, *_VOLUME, *_WINDOWS, *_RTTS, *_CONGESTION)
"""In the order of the native module."""
