// SPDX-License-Identifier: GPL-2.0
#include "control.h"

/*
 * A congestion control as a BPF program, which the engine `kernel` loads into its guest. As it is, every function hands its work to the kernel's
 * own CUBIC, so that a flow is the same to the byte. Change what you want to change, such as what a loss leaves of the window.
 */

char _license[] SEC("license") = "GPL"; /* functions of the kernel are for programs under its licence */

OPERATION(@NAME@_init)
{
	cubictcp_init(ARGUMENT(struct sock *, 0));
	return 0;
}

/* The slow start threshold after a loss, in segments. */
OPERATION(@NAME@_ssthresh)
{
	return cubictcp_recalc_ssthresh(ARGUMENT(struct sock *, 0));
}

/* Grows the window on an ACK. */
OPERATION(@NAME@_cong_avoid)
{
	cubictcp_cong_avoid(ARGUMENT(struct sock *, 0), ARGUMENT(u32, 1), ARGUMENT(u32, 2));
	return 0;
}

OPERATION(@NAME@_set_state)
{
	cubictcp_state(ARGUMENT(struct sock *, 0), ARGUMENT(u8, 1));
	return 0;
}

OPERATION(@NAME@_cwnd_event)
{
	cubictcp_cwnd_event(ARGUMENT(struct sock *, 0), ARGUMENT(enum tcp_ca_event, 1));
	return 0;
}

/* Sees the RTT that an ACK has measured. */
OPERATION(@NAME@_pkts_acked)
{
	cubictcp_acked(ARGUMENT(struct sock *, 0), ARGUMENT(const struct ack_sample *, 1));
	return 0;
}

/* The window that a loss which was none gives back. */
OPERATION(@NAME@_undo_cwnd)
{
	return tcp_reno_undo_cwnd(ARGUMENT(struct sock *, 0));
}

SEC(".struct_ops")
struct tcp_congestion_ops @NAME@ = {
	.init = (void *)@NAME@_init,
	.ssthresh = (void *)@NAME@_ssthresh,
	.cong_avoid = (void *)@NAME@_cong_avoid,
	.set_state = (void *)@NAME@_set_state,
	.cwnd_event = (void *)@NAME@_cwnd_event,
	.pkts_acked = (void *)@NAME@_pkts_acked,
	.undo_cwnd = (void *)@NAME@_undo_cwnd,
	.name = "@NAME@",
};
