/* A congestion control of one's own for dumbbell, in a shared library. Made by
 * docs/interface.py; do not edit. */
#ifndef DUMBBELL_CC_H
#define DUMBBELL_CC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It changes with each change that a library notices. A
 * library of another version is an error. */
#define DUMBBELL_ABI 1

/* It works on ECN marks: the receiver echoes them one by one, as DCTCP needs it. A scenario
 * needs ecn: true for this congestion control. */
#define DUMBBELL_NEEDS_ECN (1 << 0)

/* cong_control sets the window after each ACK, in place of cong_avoid and of the sender's own
 * reduction (PRR). */
#define DUMBBELL_NEEDS_CONG_CONTROL (1 << 1)

/* It reads the delivery rate of the samples. */
#define DUMBBELL_NEEDS_RATE_SAMPLES (1 << 2)

/* It reads slow_path and the timestamps of the samples, or sets enters_cwr. */
#define DUMBBELL_NEEDS_WHOLE_ACKS (1 << 3)

/* It is paced, at pacing_rate. */
#define DUMBBELL_NEEDS_PACING (1 << 4)

/* lost is called for every segment that is deemed lost. A congestion control with this flag
 * also needs rate samples. */
#define DUMBBELL_NEEDS_LOSSES (1 << 5)

/* First transmission when nothing was in flight. */
#define DUMBBELL_EVENT_TX_START 0

/* The window is about to be restarted, as nothing was sent for more than a retransmission
 * timeout. */
#define DUMBBELL_EVENT_CWND_RESTART 1

/* A reduction (CWR or recovery) is complete; the window has been set to ssthresh. */
#define DUMBBELL_EVENT_COMPLETE_CWR 2

/* A retransmission timeout that is taken for a loss; the threshold has been reduced. */
#define DUMBBELL_EVENT_LOSS 3

/* The congestion state is about to become the one that is given with it; view->state is still
 * the old one. */
#define DUMBBELL_EVENT_STATE 4

/* A tail loss probe has repaired the loss of the last segment: a reduction is about to begin.
 * The value is 1 if the application limited sending when that segment was first sent, else 0. */
#define DUMBBELL_EVENT_PROBE_REPAIRED_LOSS 5

/* "No threshold yet", as Linux prints it, segments. */
#define DUMBBELL_INFINITE_SSTHRESH 0x7fffffff

/* Linux's congestion states. The field is a uint8_t. */
enum dumbbell_ca_state {
	/* Nothing unusual. */
	DUMBBELL_CA_STATE_OPEN = 0,
	/* SACKs or duplicate ACKs seen. */
	DUMBBELL_CA_STATE_DISORDER = 1,
	/* Window being reduced after a mark or a local drop. */
	DUMBBELL_CA_STATE_CWR = 2,
	/* Fast recovery. */
	DUMBBELL_CA_STATE_RECOVERY = 3,
	/* After a retransmission timeout. */
	DUMBBELL_CA_STATE_LOSS = 4,
};

/* Rule by which the window grows; the number is how far slow start goes beyond its threshold.
 * The field is a uint8_t. */
enum dumbbell_growth {
	/* Segments that were delivered (3.13 and later). */
	DUMBBELL_GROWTH_SEGMENTS = 0,
	/* ACKs: each counts once, whatever it acknowledges. The threshold itself still belongs to
	 * slow start. */
	DUMBBELL_GROWTH_ACKS = 1,
};

/* A connection as its congestion control sees it; sequence numbers count segments. A control
 * reads it, the sender alone writes it: it is the sender's own state, not a copy. Wide
 * because it is all that a control may look at, in one C struct without pointers (in Linux a
 * control reads tcp_sock). */
struct dumbbell_view {
	/* Now, us. */
	uint64_t mstamp_us;
	/* Now, ticks. */
	uint32_t jiffies;
	/* Ticks a second. */
	uint32_t hz;
	/* First unacknowledged segment. */
	uint32_t snd_una;
	/* Next new segment. */
	uint32_t snd_nxt;
	/* Segments sent and not cumulatively acknowledged. */
	uint32_t packets_out;
	/* SACKed segments among them. */
	uint32_t sacked_out;
	/* Segments among them that are deemed lost. */
	uint32_t lost_out;
	/* Retransmissions in flight. */
	uint32_t retrans_out;
	/* Segments delivered, ever (retransmitted ones count once a delivery). */
	uint32_t delivered;
	/* Segments among them that were acknowledged with an ECN echo. */
	uint32_t delivered_ce;
	/* Smoothed RTT times 8, us; 0 before the first sample. */
	uint32_t srtt_us8;
	/* Windowed minimum RTT, us; the largest number before the first sample. */
	uint32_t min_rtt_us;
	/* Window at the start of the present reduction. */
	uint32_t prior_cwnd;
	/* Most segments outstanding in the present window. */
	uint32_t max_packets_out;
	/* Time of the last transmission of new data, ticks. */
	uint32_t last_sent_jiffies;
	/* Congestion state. */
	uint8_t state;
	/* The window, not the application or the receiver, limits sending. */
	bool is_cwnd_limited;
	/* In slow start the flag does not count, only the rule that the window may double (Linux
	 * before 6.0). */
	bool slow_start_ignores_limited_flag;
	/* Rule by which the window grows. */
	uint8_t growth;
	/* Segments ever deemed lost. */
	uint32_t lost;
	/* Payload of a full segment, bytes. */
	uint32_t mss;
	/* When something was delivered last, us; only kept for a control that needs rate samples. */
	uint64_t delivered_us;
	/* Seed of the connection's random stream: the run's seed, and which connection of the run it
	 * is. */
	uint64_t seed[2];
	/* The next segment leaves no earlier, ns; in the future while a paced sender waits. */
	uint64_t departure_ns;
	/* The sender is paced. */
	bool is_paced;
	/* The receiver reports what it has beyond a gap (SACK), so that several losses of a round
	 * trip are seen at once. */
	bool has_sack;
};

/* Values that a congestion control sets, and the sender obeys. The sender itself sets the
 * window during a reduction (PRR), after a timeout and when a reduction is undone. */
struct dumbbell_window {
	/* Congestion window, segments. */
	uint32_t cwnd;
	/* Slow-start threshold, segments. */
	uint32_t ssthresh;
	/* Segments (or ACKs) counted towards the next increase by one. */
	uint32_t cwnd_cnt;
	/* Rate of a paced sender, bytes/s. The rate also sizes TSO segments, and HyStart estimates
	 * the delay of ACKs by it. It is computed from the window after each ACK unless the control
	 * has a cong_control. */
	uint64_t pacing_rate;
	/* Segments that are sent until so many are delivered do not show the rate of the path, as
	 * the application limits it; 0: they do. Set when an application writes that has kept the
	 * sender waiting, and by a control that holds back itself. Only kept for one that needs rate
	 * samples. */
	uint32_t app_limited;
	/* Set by a control to have the window reduced as after an ECN echo, once the hook returns;
	 * the sender takes it back. Only for one that whole_acks, and in cong_avoid. */
	bool enters_cwr;
	/* Least size of a TSO segment where the pacing rate asks for a smaller one, segments (sysctl
	 * tcp_min_tso_segs). */
	uint32_t min_tso_segments;
};

/* How fast segments were delivered from when the segment was sent that was sent last of those
 * newly delivered. Only taken for a control that needs it. */
struct dumbbell_delivery_rate {
	/* Over so many us; negative: the sample says nothing about the rate. For cong_control and
	 * cong_avoid only. */
	int64_t interval_us;
	/* Segments delivered in that time; negative if it is not known. Likewise. */
	int32_t delivered;
	/* Segments among them that were acknowledged with an ECN echo; read likewise. */
	uint32_t delivered_ce;
	/* Segments delivered, ever, when that segment was sent; 0: it is not known. May be read from
	 * pkts_acked on. */
	uint32_t prior_delivered;
	/* Segments in flight when it was sent, itself included. */
	uint32_t tx_in_flight;
	/* Segments deemed lost since it was sent. */
	int32_t lost;
	/* The application limited what was sent before it. */
	bool is_app_limited;
	/* The ACK is that of a lone short segment, and may have been delayed. */
	bool is_ack_delayed;
	/* The ACK is for all that was sent when the last segment was retransmitted as a loss probe:
	 * it may be for the first transmission or the second. */
	bool is_of_loss_probe;
};

/* The news of an ACK. A sample is made for each ACK and filled while that is processed; each
 * hook says what it may read. */
struct dumbbell_sample {
	/* RTT of the last segment newly acknowledged or SACKed that was never retransmitted, us;
	 * negative without a valid one. */
	int64_t rtt_us;
	/* Segments newly acknowledged by the cumulative point. */
	uint32_t acked;
	/* Segments newly delivered, cumulatively or by SACK. */
	uint32_t delivered;
	/* Segments newly marked as lost. */
	uint32_t losses;
	/* Segments in flight before the ACK. */
	uint32_t prior_in_flight;
	/* The receiver's window was updated (always true when the cumulative point moved). */
	bool window_update;
	/* ECN echo. */
	bool ece;
	/* SCE echo. */
	bool esce;
	/* Linux's header prediction does not take the ACK: it has SACK blocks or an ECN echo, offers
	 * another window than the last one, or acknowledges nothing new. */
	bool slow_path;
	/* The receiver's clock when it sent the ACK, and ours when the segment that it echoes was
	 * sent, ms (timestamp option). */
	uint32_t tsval;
	/* See tsval. */
	uint32_t tsecr;
	/* How fast segments are delivered. */
	struct dumbbell_delivery_rate rate;
};

/* A segment that is deemed lost, for a control that needs to know. Those of a TSO segment are
 * told one by one, lowest first. */
struct dumbbell_lost {
	/* Which segment. */
	uint32_t seq;
	/* Segments in flight when it was sent last, itself included, and the TSO segment that it
	 * belongs to; 0: it is not known. */
	uint32_t tx_in_flight;
	/* Segments deemed lost since, itself included. */
	int32_t lost;
	/* The application limited what was sent before it. */
	bool is_app_limited;
};

/* A parameter as the scenario has it: a number as its digits, a flag as on or off. */
struct dumbbell_parameter {
	/* Its name. */
	const char *name;
	/* Its value. */
	const char *value;
};

/* Takes the values of state variables, which a scenario may record as series of the
 * connection (series: [control]). */
struct dumbbell_emitter {
	/* The simulator's. */
	void *context;
	/* Emits the value of a variable: a name of printable ASCII of at most 40 characters, with
	 * its unit if it has one (bw_bps, rtt_ms). A variable without a value at the moment is left
	 * out. */
	void (*emit)(const struct dumbbell_emitter *emitter, const char *name, double value);
};

/* The exports of a library, returned by its function dumbbell_cc_v1. They stay as they are
 * while the library is loaded. Functions may be left out (NULL) if their comment says what
 * happens then. Their arguments are theirs only until they return. One thread computes a run;
 * several connections of a run may use a library, each with the state that create made for
 * it. Wide because it is all that a library may have. */
struct dumbbell_control {
	/* The version of the interface: DUMBBELL_ABI. */
	uint32_t abi;
	/* Sizes of the structures as the library knows them. */
	uint32_t control_size;
	/* See control_size. */
	uint32_t view_size;
	/* See control_size. */
	uint32_t window_size;
	/* See control_size. */
	uint32_t sample_size;
	/* See control_size. */
	uint32_t lost_size;
	/* Needs of the congestion control: DUMBBELL_NEEDS_..., or 0. */
	uint32_t needs;
	/* Windows that a send buffer which grows has room for, at most 255 (Linux's sndbuf_expand);
	 * 0: the usual 2. */
	uint32_t send_windows;
	/* Makes the state of a connection, and reads the parameters. Returns NULL if a parameter is
	 * wrong, with the reason in error. Left out: the functions below get NULL for state, and
	 * parameters are an error. */
	void *(*create)(const struct dumbbell_parameter *parameters, size_t count, char *error, size_t error_size);
	/* Takes the state back. Left out: nothing is done. */
	void (*destroy)(void *state);
	/* The connection is established. Left out: nothing is done. */
	void (*init)(void *state, const struct dumbbell_view *view, struct dumbbell_window *window);
	/* The threshold after a loss or an ECN echo, segments. Must be there. */
	uint32_t (*ssthresh)(void *state, const struct dumbbell_view *view, const struct dumbbell_window *window);
	/* Growth for acked segments delivered, outside reductions. Must be there, unless it has a
	 * cong_control. */
	void (*cong_avoid)(void *state, const struct dumbbell_view *view, struct dumbbell_window *window, uint32_t acked);
	/* Sets window and pacing rate after an ACK, whatever the state. Must be there if
	 * DUMBBELL_NEEDS_CONG_CONTROL is set, and only then. */
	void (*cong_control)(void *state, const struct dumbbell_view *view, struct dumbbell_window *window, const struct dumbbell_sample *sample);
	/* The window after a reduction proved wrong, segments. Left out: the larger of the window
	 * and view->prior_cwnd. */
	uint32_t (*undo_cwnd)(void *state, const struct dumbbell_view *view, const struct dumbbell_window *window);
	/* An event, DUMBBELL_EVENT_..., with the value that some events have, else 0. Left out:
	 * nothing is done. */
	void (*event)(void *state, const struct dumbbell_view *view, struct dumbbell_window *window, uint32_t event, uint32_t detail);
	/* An ACK moved the cumulative point or brought SACK blocks; rtt_us and acked of the sample
	 * may be read. Left out: nothing is done. */
	void (*pkts_acked)(void *state, const struct dumbbell_view *view, struct dumbbell_window *window, const struct dumbbell_sample *sample);
	/* An ACK arrived; acked, window_update, ece and esce of the sample may be read. Left out:
	 * nothing is done. */
	void (*ack)(void *state, const struct dumbbell_view *view, struct dumbbell_window *window, const struct dumbbell_sample *sample);
	/* A segment is deemed lost, or lost again; the view counts it already. Must be there if
	 * DUMBBELL_NEEDS_LOSSES is set, and only then. */
	void (*lost)(void *state, const struct dumbbell_view *view, struct dumbbell_window *window, const struct dumbbell_lost *lost);
	/* So many segments were sent, new ones or again; the view counts them already. Left out:
	 * nothing is done. */
	void (*sent)(void *state, const struct dumbbell_view *view, struct dumbbell_window *window, uint32_t segments);
	/* Emits the state variables of the connection: it calls emitter->emit(emitter, name, value)
	 * for each. It is called at the times of the samples, only if the scenario asks for them,
	 * and must not change anything. Left out, as in tables that end before it: there are none. */
	void (*tell)(void *state, const struct dumbbell_view *view, const struct dumbbell_window *window, const struct dumbbell_emitter *emitter);
};

/* How the table begins: the version, and the sizes of the structures. */
#define DUMBBELL_THIS_INTERFACE \
	.abi = DUMBBELL_ABI, .control_size = sizeof(struct dumbbell_control), \
	.view_size = sizeof(struct dumbbell_view), \
	.window_size = sizeof(struct dumbbell_window), \
	.sample_size = sizeof(struct dumbbell_sample), \
	.lost_size = sizeof(struct dumbbell_lost)

/* What the library exports: its table. */
const struct dumbbell_control *dumbbell_cc_v1(void);

#ifdef __cplusplus
}
#endif
#endif
