/* Samples: TCP_INFO of the senders, statistics of the queues from rtnetlink, as rows of doubles in the machine's byte order; collect.py
 * names the columns. */
#include "agent.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <math.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NO_SSTHRESH 0x7fffffff
#define DUALPI2_MARKS (6 * sizeof(uint32_t)) /* ecn_mark in struct tc_dualpi2_xstats of 6.17; step_marks are among these */
#define CAKE_TIN_SCE_MARKS 64 /* TCA_CAKE_TIN_STATS_SCE_MARKED_PACKETS of the kernel's patch sce/02-cake */
#define BUFFER (16 << 10) /* of a file; without one of its own it would be 1 kB in a guest */

static FILE *open_rows(const char *kind, int i)
{
	char name[64];
	FILE *file;

	snprintf(name, sizeof(name), "%s-%d", kind, i);
	file = fopen(name, "we");
	if (!file)
		fail("%s: %s", name, strerror(errno));
	setvbuf(file, reserve(NULL, BUFFER), _IOFBF, BUFFER);
	return file;
}

void open_series(struct script *script)
{
	int i;

	script->netlink = open_netlink(script->ports_namespace);
	for (i = 0; i < script->n_ports; i++) {
		struct port *port = &script->ports[i];
		int on_host = strcmp(port->namespace, script->ports_namespace);

		port->netlink = on_host ? open_netlink(port->namespace) : script->netlink;
		enter_namespace(port->namespace);
		port->index = if_nametoindex(port->device);
		if (!port->index)
			fail("device %s is not there", port->device);
	}
	for (i = 0; i < script->n_flows; i++)
		if (script->flows[i].traffic == SESSION)
			script->flows[i].transactions = open_rows("transactions", i);
	if (!script->sample_ns)
		return;
	for (i = 0; i < script->n_ports; i++)
		if (script->ports[i].sampled)
			script->ports[i].series = open_rows("port", i);
	for (i = 0; i < script->n_ports; i++)
		if (script->ports[i].sampled && script->queues_states)
			script->ports[i].states = open_rows("state-port", i);
	for (i = 0; i < script->n_flows; i++)
		if (script->flows[i].traffic != DATAGRAMS)
			script->flows[i].series = open_rows("flow", i);
	for (i = 0; i < script->n_flows; i++)
		if (script->flows[i].traffic != DATAGRAMS && script->senders_states)
			script->flows[i].states = open_rows("state-flow", i);
}

static void write_row(FILE *file, const double *row, size_t n)
{
	if (fwrite(row, sizeof(*row), n, file) != n)
		fail("samples: %s", strerror(errno));
}

/* From when a flow is stopped, the sender's numbers stay as they were. */
void read_sender(struct flow *flow)
{
	if (flow->traffic != PROGRAMS && (flow->state == ACTIVE || flow->state == CLOSING))
		read_info(&flow->from);
}

void sample_flows(struct script *script, int64_t t_ns)
{
	int i;

	for (i = 0; i < script->n_flows; i++) {
		struct flow *flow = &script->flows[i];
		const struct tcp_info *info = &flow->from.info;

		if (flow->traffic == DATAGRAMS || t_ns < flow->start_ns)
			continue;
		read_sender(flow);
		if (flow->traffic == PROGRAMS)
			read_ends(script, flow);
		/* Nobody has connected to it yet, or the program has no connection. */
		if ((flow->opened_by_to || flow->traffic == PROGRAMS) && is_here(&flow->from) && !info->tcpi_snd_cwnd)
			continue;
		write_row(flow->series,
			  (double[]){ t_ns, info->tcpi_snd_cwnd, info->tcpi_snd_ssthresh >= NO_SSTHRESH ? NAN : info->tcpi_snd_ssthresh,
				      info->tcpi_rtt ? info->tcpi_rtt / 1e3 : NAN, info->tcpi_min_rtt == ~0U || !info->tcpi_min_rtt ? NAN : info->tcpi_min_rtt / 1e3,
				      (double)info->tcpi_unacked - info->tcpi_sacked - info->tcpi_lost + info->tcpi_retrans,
				      info->tcpi_delivered, info->tcpi_delivered_ce, info->tcpi_total_retrans, flow->to.received,
				      info->tcpi_ca_state },
			  11);
		write_sender_state(flow, t_ns);
	}
}

/* Where the statistics of a qdisc count CE marks. */
static const struct {
	const char *kind;
	size_t offset;
} mark_counters[] = {
	{ "codel", offsetof(struct tc_codel_xstats, ecn_mark) }, { "codel", offsetof(struct tc_codel_xstats, ce_mark) },
	{ "fq_codel", offsetof(struct tc_fq_codel_xstats, qdisc_stats.ecn_mark) }, { "fq_codel", offsetof(struct tc_fq_codel_xstats, qdisc_stats.ce_mark) },
	{ "pie", offsetof(struct tc_pie_xstats, ecn_mark) },	 { "fq_pie", offsetof(struct tc_fq_pie_xstats, ecn_mark) },
	{ "red", offsetof(struct tc_red_xstats, marked) },
	{ "dualpi2", DUALPI2_MARKS },
};

/* A counter of all tins of a cake together. */
static double count_in_tins(const struct rtattr *app, int counter)
{
	const struct rtattr *tins = find(RTA_DATA(app), RTA_PAYLOAD(app), TCA_CAKE_STATS_TIN_STATS), *tin, *found;
	uint32_t count = 0;
	double sum = 0;
	int left = tins ? RTA_PAYLOAD(tins) : 0;

	for (tin = tins ? RTA_DATA(tins) : NULL; tins && RTA_OK(tin, left); tin = RTA_NEXT(tin, left)) {
		found = find(RTA_DATA(tin), RTA_PAYLOAD(tin), counter);
		if (found)
			sum += *(uint32_t *)payload(found, &count, sizeof(count));
	}
	return sum;
}

/* CE marks; cake's are in its tins. */
static double marks_of(const char *kind, const struct rtattr *app)
{
	struct tc_fq_qd_stats fq;
	uint32_t count = 0;
	double sum = 0;
	size_t i;

	for (i = 0; i < sizeof(mark_counters) / sizeof(*mark_counters); i++)
		if (!strcmp(kind, mark_counters[i].kind) && RTA_PAYLOAD(app) >= mark_counters[i].offset + sizeof(count)) {
			memcpy(&count, (const char *)RTA_DATA(app) + mark_counters[i].offset, sizeof(count));
			sum += count;
		}
	if (!strcmp(kind, "fq"))
		return ((const struct tc_fq_qd_stats *)payload(app, &fq, sizeof(fq)))->ce_mark;
	return strcmp(kind, "cake") ? sum : count_in_tins(app, TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS);
}

struct reading {
	struct script *script;
	int netlink; /* where it was asked */
};

static void read_qdisc(const struct nlmsghdr *message, void *context)
{
	const struct reading *reading = context;
	struct script *script = reading->script;
	const struct tcmsg *about = NLMSG_DATA(message);
	int left = message->nlmsg_len - NLMSG_LENGTH(sizeof(*about)), left2, i;
	const struct rtattr *first = (const void *)((const char *)about + NLMSG_ALIGN(sizeof(*about))), *kind, *stats, *part;
	struct gnet_stats_basic basic = { 0 };
	struct gnet_stats_queue queue = { 0 };
	struct port *port = NULL;

	for (i = 0; i < script->n_ports; i++)
		if (script->ports[i].index == about->tcm_ifindex && script->ports[i].netlink == reading->netlink)
			port = &script->ports[i];
	kind = find(first, left, TCA_KIND);
	stats = find(first, left, TCA_STATS2);
	if (!port || !kind || !stats)
		return;
	first = RTA_DATA(stats);
	left2 = RTA_PAYLOAD(stats);
	part = find(first, left2, TCA_STATS_APP);
	if (about->tcm_handle >> 16 == port->leaf && part)
		port->marks = marks_of(RTA_DATA(kind), part);
	if (about->tcm_handle >> 16 == port->leaf && part && !strcmp(RTA_DATA(kind), "cake"))
		port->sce_marks = count_in_tins(part, CAKE_TIN_SCE_MARKS);
	if (about->tcm_handle >> 16 == port->leaf && part && port->states) {
		keep_statistics(port, part);
		port->has_classes = !strcmp(RTA_DATA(kind), "fq_codel") || !strcmp(RTA_DATA(kind), "cake");
	}
	if (about->tcm_parent != TC_H_ROOT)
		return;
	if ((part = find(first, left2, TCA_STATS_BASIC)))
		payload(part, &basic, sizeof(basic));
	if ((part = find(first, left2, TCA_STATS_QUEUE)))
		payload(part, &queue, sizeof(queue));
	port->qlen = queue.qlen;
	port->backlog = queue.backlog;
	port->drops = queue.drops;
	port->packets = count_packets(stats);
	port->bytes = basic.bytes;
}

void read_qdiscs(struct script *script)
{
	struct reading reading = { script, script->netlink };
	int i;

	dump(reading.netlink, RTM_GETQDISC, 0, 0, read_qdisc, &reading);
	for (i = 0; i < script->n_ports; i++)
		if (script->ports[i].netlink != script->netlink) {
			reading.netlink = script->ports[i].netlink;
			dump(reading.netlink, RTM_GETQDISC, 0, 0, read_qdisc, &reading);
		}
}

void sample_ports(struct script *script, int64_t t_ns)
{
	int i;

	read_qdiscs(script);
	for (i = 0; i < script->n_ports; i++) {
		struct port *port = &script->ports[i];

		if (!port->sampled)
			continue;
		write_row(port->series,
			  (double[]){ t_ns, port->backlog, port->qlen, port->drops, port->marks, port->packets, port->bytes }, 7);
		write_queue_state(port, t_ns);
	}
}

static void close_rows(FILE *file)
{
	if (file && fclose(file))
		fail("samples: %s", strerror(errno));
}

void close_series(struct script *script)
{
	int i;

	for (i = 0; i < script->n_flows; i++) {
		close_rows(script->flows[i].series);
		close_rows(script->flows[i].states);
		close_rows(script->flows[i].transactions);
	}
	for (i = 0; i < script->n_ports; i++) {
		close_rows(script->ports[i].series);
		close_rows(script->ports[i].states);
	}
}
