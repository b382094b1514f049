/* Samples: TCP_INFO of the senders, statistics of the queues from rtnetlink. Rows of doubles in the machine's order; what they hold
 * is named in collect.py. */
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
#define BUFFER (256 << 10)

static int netlink_fd = -1;
static struct port *by_index;
static int n_ports;

static FILE *open_rows(const char *kind, int i)
{
	char name[64];
	FILE *file;

	snprintf(name, sizeof(name), "%s-%d", kind, i);
	file = fopen(name, "w");
	if (!file)
		fail("%s: %s", name, strerror(errno));
	setvbuf(file, NULL, _IOFBF, BUFFER);
	return file;
}

void open_series(struct plan *plan)
{
	int size = 1 << 20, i;

	enter_namespace(plan->ports_ns);
	netlink_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (netlink_fd < 0 || setsockopt(netlink_fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)))
		fail("netlink: %s", strerror(errno));
	by_index = plan->ports;
	n_ports = plan->n_ports;
	for (i = 0; i < plan->n_ports; i++) {
		plan->ports[i].index = if_nametoindex(plan->ports[i].device);
		if (!plan->ports[i].index)
			fail("device %s is not there", plan->ports[i].device);
	}
	if (!plan->sample_ns)
		return;
	for (i = 0; i < plan->n_ports; i++)
		plan->ports[i].series = open_rows("port", i);
	for (i = 0; i < plan->n_flows; i++)
		if (!plan->flows[i].interval_ns)
			plan->flows[i].series = open_rows("flow", i);
}

static void write_row(FILE *file, const double *row, size_t n)
{
	if (fwrite(row, sizeof(*row), n, file) != n)
		fail("samples: %s", strerror(errno));
}

void read_sender(struct flow *flow)
{
	socklen_t size = sizeof(flow->sender);

	if (flow->state == ACTIVE && getsockopt(flow->send_fd, IPPROTO_TCP, TCP_INFO, &flow->sender, &size))
		fail("TCP_INFO: %s", strerror(errno));
}

void sample_flows(struct plan *plan, int64_t t_ns)
{
	int i;

	for (i = 0; i < plan->n_flows; i++) {
		struct flow *flow = &plan->flows[i];
		const struct tcp_info *info = &flow->sender;

		if (flow->interval_ns || t_ns < flow->start_ns)
			continue;
		read_sender(flow);
		write_row(flow->series,
			  (double[]){ t_ns, info->tcpi_snd_cwnd, info->tcpi_snd_ssthresh >= NO_SSTHRESH ? NAN : info->tcpi_snd_ssthresh,
				      info->tcpi_rtt ? info->tcpi_rtt / 1e3 : NAN, info->tcpi_min_rtt == ~0U || !info->tcpi_min_rtt ? NAN : info->tcpi_min_rtt / 1e3,
				      (double)info->tcpi_unacked - info->tcpi_sacked - info->tcpi_lost + info->tcpi_retrans,
				      info->tcpi_delivered, info->tcpi_delivered_ce, info->tcpi_total_retrans, flow->received,
				      info->tcpi_ca_state },
			  11);
	}
}

static void *payload(const struct rtattr *attribute, void *to, size_t size)
{
	size_t there = RTA_PAYLOAD(attribute);

	memset(to, 0, size);
	return memcpy(to, RTA_DATA(attribute), there < size ? there : size);
}

static const struct rtattr *find(const void *from, int left, int type)
{
	const struct rtattr *a;

	for (a = from; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if ((a->rta_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

/* Where the statistics of a qdisc count CE marks. */
static const struct {
	const char *kind;
	size_t offset;
} mark_counters[] = {
	{ "codel", offsetof(struct tc_codel_xstats, ecn_mark) }, { "fq_codel", offsetof(struct tc_fq_codel_xstats, qdisc_stats.ecn_mark) },
	{ "pie", offsetof(struct tc_pie_xstats, ecn_mark) },	 { "fq_pie", offsetof(struct tc_fq_pie_xstats, ecn_mark) },
	{ "red", offsetof(struct tc_red_xstats, marked) },
};

/* CE marks; cake's are in its tins. */
static double marks_of(const char *kind, const struct rtattr *app)
{
	const struct rtattr *tins, *tin, *marked;
	struct tc_fq_qd_stats fq;
	uint32_t count = 0;
	double sum = 0;
	int left;
	size_t i;

	for (i = 0; i < sizeof(mark_counters) / sizeof(*mark_counters); i++)
		if (!strcmp(kind, mark_counters[i].kind)) {
			if (RTA_PAYLOAD(app) >= mark_counters[i].offset + sizeof(count))
				memcpy(&count, (const char *)RTA_DATA(app) + mark_counters[i].offset, sizeof(count));
			return count;
		}
	if (!strcmp(kind, "fq"))
		return ((const struct tc_fq_qd_stats *)payload(app, &fq, sizeof(fq)))->ce_mark;
	if (strcmp(kind, "cake") || !(tins = find(RTA_DATA(app), RTA_PAYLOAD(app), TCA_CAKE_STATS_TIN_STATS)))
		return 0;
	left = RTA_PAYLOAD(tins);
	for (tin = RTA_DATA(tins); RTA_OK(tin, left); tin = RTA_NEXT(tin, left)) {
		marked = find(RTA_DATA(tin), RTA_PAYLOAD(tin), TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS);
		if (marked)
			sum += *(uint32_t *)payload(marked, &count, sizeof(count));
	}
	return sum;
}

static void read_qdisc(const struct nlmsghdr *message)
{
	const struct tcmsg *about = NLMSG_DATA(message);
	int left = message->nlmsg_len - NLMSG_LENGTH(sizeof(*about)), left2, i;
	const struct rtattr *first = (const void *)((const char *)about + NLMSG_ALIGN(sizeof(*about))), *kind, *stats, *part;
	struct gnet_stats_basic basic = { 0 };
	struct gnet_stats_queue queue = { 0 };
	uint64_t packets = 0;
	struct port *port = NULL;

	for (i = 0; i < n_ports; i++)
		if (by_index[i].index == about->tcm_ifindex)
			port = &by_index[i];
	kind = find(first, left, TCA_KIND);
	stats = find(first, left, TCA_STATS2);
	if (!port || !kind || !stats)
		return;
	first = RTA_DATA(stats);
	left2 = RTA_PAYLOAD(stats);
	part = find(first, left2, TCA_STATS_APP);
	if (about->tcm_handle >> 16 == port->leaf && part)
		port->marks = marks_of(RTA_DATA(kind), part);
	if (about->tcm_parent != TC_H_ROOT)
		return;
	if ((part = find(first, left2, TCA_STATS_BASIC)))
		payload(part, &basic, sizeof(basic));
	packets = basic.packets;
	if ((part = find(first, left2, TCA_STATS_PKT64)))
		payload(part, &packets, sizeof(packets));
	if ((part = find(first, left2, TCA_STATS_QUEUE)))
		payload(part, &queue, sizeof(queue));
	port->qlen = queue.qlen;
	port->backlog = queue.backlog;
	port->drops = queue.drops;
	port->packets = packets;
	port->bytes = basic.bytes;
}

static void read_qdiscs(void)
{
	struct {
		struct nlmsghdr header;
		struct tcmsg about;
	} request = { .header = { .nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		      .about = { .tcm_family = AF_UNSPEC } };
	static char buffer[BUFFER];
	struct nlmsghdr *message;
	int n;

	if (send(netlink_fd, &request, sizeof(request), 0) < 0)
		fail("netlink: %s", strerror(errno));
	for (;;) {
		n = recv(netlink_fd, buffer, sizeof(buffer), 0);
		if (n < 0)
			fail("netlink: %s", strerror(errno));
		for (message = (void *)buffer; NLMSG_OK(message, (unsigned int)n); message = NLMSG_NEXT(message, n)) {
			if (message->nlmsg_type == NLMSG_DONE)
				return;
			if (message->nlmsg_type == RTM_NEWQDISC)
				read_qdisc(message);
		}
	}
}

void sample_ports(struct plan *plan, int64_t t_ns)
{
	int i;

	read_qdiscs();
	for (i = 0; i < plan->n_ports; i++) {
		const struct port *port = &plan->ports[i];

		write_row(port->series,
			  (double[]){ t_ns, port->backlog, port->qlen, port->drops, port->marks, port->packets, port->bytes }, 7);
	}
}

static void close_rows(FILE *file)
{
	if (file && fclose(file))
		fail("samples: %s", strerror(errno));
}

/* Final numbers of the flows, a line each: index, key, value. Those of the queues are tc's. */
void write_counters(struct plan *plan)
{
	FILE *file = fopen("counters", "w");
	int i;

	if (!file)
		fail("counters: %s", strerror(errno));
	for (i = 0; i < plan->n_flows; i++) {
		struct flow *flow = &plan->flows[i];
		struct tcp_info receiver = { 0 };
		socklen_t size = sizeof(receiver);

		fprintf(file, "%d received %llu\n", i, (unsigned long long)flow->received);
		if (flow->interval_ns) {
			fprintf(file, "%d sent %llu\n", i, (unsigned long long)flow->queued);
			continue;
		}
		read_sender(flow);
		if (flow->receive_fd >= 0 && getsockopt(flow->receive_fd, IPPROTO_TCP, TCP_INFO, &receiver, &size))
			fail("TCP_INFO: %s", strerror(errno));
		fprintf(file, "%d sent_packets %u\n%d retransmits %u\n%d arrived_packets %u\n%d delivered %u\n%d delivered_ce %u\n", i,
			flow->sender.tcpi_data_segs_out, i, flow->sender.tcpi_total_retrans, i, receiver.tcpi_data_segs_in, i,
			flow->sender.tcpi_delivered, i, flow->sender.tcpi_delivered_ce);
		fprintf(file, "%d acks_arrived %u\n", i, flow->sender.tcpi_segs_in);
		if (flow->completed_ns >= 0)
			fprintf(file, "%d completed_ns %lld\n", i, (long long)flow->completed_ns);
	}
	if (fclose(file))
		fail("counters: %s", strerror(errno));
	for (i = 0; i < plan->n_flows; i++)
		close_rows(plan->flows[i].series);
	for (i = 0; i < plan->n_ports; i++)
		close_rows(plan->ports[i].series);
}
