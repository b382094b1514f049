// SPDX-License-Identifier: GPL-2.0
/* What a congestion control as a BPF program needs: its operations by the names that the kernel has, and functions of the kernel that it may call. */

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define KERNEL extern __attribute__((section(".ksyms")))
/* An operation has one argument in BPF: an array with those that the kernel gives. */
#define OPERATION(name) SEC("struct_ops/" #name) u64 name(u64 *arguments)
#define ARGUMENT(type, number) ((type)arguments[number])

/* The loader compares the types of functions by their kinds and names. */
struct sock {
};
struct ack_sample {
	u32 pkts_acked;
	int rtt_us;
	u32 in_flight;
} __attribute__((preserve_access_index));
enum tcp_ca_event { CA_EVENT_TX_START };

/* The loader finds the members by their names, and takes their places from the kernel that it runs on. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[16];
};

/* net/ipv4/tcp_cubic.c */
KERNEL void cubictcp_init(struct sock *sk);
KERNEL u32 cubictcp_recalc_ssthresh(struct sock *sk);
KERNEL void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked);
KERNEL void cubictcp_state(struct sock *sk, u8 new_state);
KERNEL void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event);
KERNEL void cubictcp_acked(struct sock *sk, const struct ack_sample *sample);
/* net/ipv4/tcp_cong.c */
KERNEL u32 tcp_reno_ssthresh(struct sock *sk);
KERNEL void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
KERNEL u32 tcp_reno_undo_cwnd(struct sock *sk);
