/* The agent: first process of the guest, traffic generator and sampler in one. main.c carries out the plan, setup.c makes namespaces
 * and settings, traffic.c has the flows and the clock, sample.c reads TCP_INFO and the queues, count.c writes what
 * they come to, capture.c writes packets. */
#ifndef AGENT_H
#define AGENT_H

#define _GNU_SOURCE
#include <linux/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define ERROR_FILE "error"
#define MAX_WORDS 64

struct namespace {
	const char *name;
	int fd;
};

enum state { WAITING, ACTIVE, STOPPED };

/* One TCP flow, or one stream of datagrams (interval_ns > 0). */
struct flow {
	const char *cc;
	const char *sender_ns, *receiver_ns;
	uint32_t saddr, daddr; /* network byte order */
	uint16_t sport, dport; /* host byte order */
	int64_t start_ns, stop_ns;
	int64_t bytes; /* to send; -1: no end */
	int64_t interval_ns; /* between datagrams */
	int payload; /* of a datagram */
	int sndbuf, rcvbuf; /* as given to setsockopt; 0: auto-tuned */
	int send_fd, listen_fd, receive_fd, timer_fd;
	enum state state;
	uint64_t queued; /* bytes handed to the socket, datagrams sent */
	uint64_t received; /* bytes read, datagrams received */
	int64_t completed_ns;
	struct tcp_info sender; /* as last read */
	FILE *series;
};

/* A device with a queue discipline. */
struct port {
	const char *device;
	int sampled;
	int index; /* of the device */
	uint32_t leaf; /* major number of the qdisc whose marks count */
	double qlen, backlog, drops, marks, packets, bytes;
	FILE *series;
};

/* A device whose filters hand packets on. */
struct hop {
	const char *device;
};

/* Something done at a time of the run. */
struct deed {
	int64_t at_ns;
	char **words;
	int timer_fd;
};

/* Packets seen by a host. */
struct capture {
	const char *namespace;
	const char *name; /* of the file */
	int fd;
	FILE *file;
};

struct plan {
	struct flow *flows;
	int n_flows;
	struct port *ports;
	int n_ports;
	struct hop *hops;
	int n_hops;
	struct deed *deeds;
	int n_deeds;
	struct capture *captures;
	int n_captures;
	const char *ports_ns; /* of ports and hops */
	int64_t sample_ns, duration_ns;
	struct timespec epoch; /* the run's time 0 on CLOCK_MONOTONIC */
	struct timespec zero; /* the same on CLOCK_REALTIME */
};

/* main.c */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *grow(void *list, int count, size_t size);

/* setup.c */
void make_namespace(const char *name);
void enter_namespace(const char *name);
void set_offload(const char *namespace, const char *device, const char *mode);
void write_sysctl(const char *namespace, const char *key, char **values, int n, int must);
void run_program(char **words);

/* traffic.c */
void make_sockets(struct plan *plan);
void run_traffic(struct plan *plan);
int64_t since_epoch(const struct plan *plan);

/* capture.c */
void open_capture(struct capture *capture);
void drain_capture(struct capture *capture, struct timespec zero);
void close_capture(struct capture *capture, struct timespec zero);

/* netlink.c */
struct nlmsghdr;
struct rtattr;
typedef void (*reader)(const struct nlmsghdr *message, void *context);
void open_netlink(const char *namespace);
void dump(int type, int index, uint32_t parent, reader read, void *context);
const struct rtattr *find(const void *from, int left, int type);
void *payload(const struct rtattr *attribute, void *to, size_t size);
uint64_t count_packets(const struct rtattr *stats);

/* sample.c */
void open_series(struct plan *plan);
void read_sender(struct flow *flow);
void sample_flows(struct plan *plan, int64_t t_ns);
void sample_ports(struct plan *plan, int64_t t_ns);
void read_qdiscs(struct plan *plan);
void close_series(struct plan *plan);

/* count.c */
void write_counters(struct plan *plan);

#endif
