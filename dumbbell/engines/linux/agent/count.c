/* What it all comes to: flows, queues, and what each filter handed on or dropped. One line each. In virtual time all of it is read at one
 * instant; in real time the flows are read when the run is over, and the rest when the queues are empty. */
#include "agent.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_ACTION 1
#define LAST_ACTION 32 /* TCA_ACT_MAX_PRIO */
#define MOST_LOOKS 100 /* at counters that change meanwhile */

static void count(FILE *file, int i, const char *key, int64_t value)
{
	fprintf(file, "flow %d %s %" PRId64 "\n", i, key, value);
}

/* Packets that an end has sent: data, ACKs, SYN and FIN. The end that was called sent its SYN-ACK before it had a socket that counts. */
static int64_t sent_by(const struct tcp_info *info, int was_called)
{
	return info->tcpi_segs_out + (was_called && info->tcpi_segs_out);
}

/* How long an end that sends had data to send or not acknowledged, and for how much of that not its window but something else held it back. */
static void count_limits(FILE *file, int i, const struct end *end)
{
	const struct tcp_info *info = &end->info;

	count(file, i, "busy_us", info->tcpi_busy_time);
	count(file, i, "rwnd_limited_us", info->tcpi_rwnd_limited);
	count(file, i, "sndbuf_limited_us", info->tcpi_sndbuf_limited + waited_for_room(end) / 1000);
}

/* flow INDEX KEY VALUE */
static void count_flow(FILE *file, const struct script *script, struct flow *flow, int i)
{
	const struct tcp_info *from = &flow->from.info, *to = &flow->to.info;

	if (flow->traffic == PROGRAMS)
		read_ends(script, flow);
	count(file, i, "received", flow->to.received);
	if (flow->traffic == DATAGRAMS) {
		count(file, i, "sent", flow->from.sent);
		if (flow->datagrams.reply) {
			count(file, i, "reply_sent", flow->to.sent);
			count(file, i, "reply_received", flow->from.received);
		}
		return;
	}
	read_sender(flow);
	read_info(&flow->to);
	read_last_packets(&flow->from);
	read_last_packets(&flow->to);
	count(file, i, "sent_packets", sent_by(from, flow->opened_by_to));
	count(file, i, "retransmits", from->tcpi_total_retrans);
	count(file, i, "arrived_packets", to->tcpi_segs_in);
	count(file, i, "delivered", from->tcpi_delivered);
	count(file, i, "delivered_ce", from->tcpi_delivered_ce);
	count(file, i, "acks_arrived", from->tcpi_segs_in);
	count_limits(file, i, flow->traffic == SESSION && !flow->application->from_is_source ? &flow->to : &flow->from);
	if (flow->traffic == SESSION) {
		count(file, i, "transactions", flow->done);
		count(file, i, "reply_received", flow->from.received);
		count(file, i, "reply_sent_packets", sent_by(to, !flow->opened_by_to));
		count(file, i, "reply_retransmits", to->tcpi_total_retrans);
		count(file, i, "reply_arrived_packets", from->tcpi_segs_in);
		count(file, i, "reply_delivered", to->tcpi_delivered);
		count(file, i, "reply_delivered_ce", to->tcpi_delivered_ce);
	}
	if (flow->completed_ns >= 0)
		count(file, i, "completed_ns", flow->completed_ns);
	if (flow->closed_ns >= 0)
		count(file, i, "closed_ns", flow->closed_ns);
}

struct counting {
	FILE *file;
	const struct hop *hop;
};

/* hop DEVICE TO PACKETS, or lost DEVICE PACKETS */
static void count_action(const struct counting *counting, const struct rtattr *action)
{
	const struct rtattr *kind = find(RTA_DATA(action), RTA_PAYLOAD(action), TCA_ACT_KIND);
	const struct rtattr *options = find(RTA_DATA(action), RTA_PAYLOAD(action), TCA_ACT_OPTIONS);
	const struct rtattr *stats = find(RTA_DATA(action), RTA_PAYLOAD(action), TCA_ACT_STATS), *part;
	struct gnet_stats_queue queue = { 0 };
	struct tc_mirred mirred;
	char to[IF_NAMESIZE];

	if (!kind || !options || !stats)
		return;
	if (!strcmp(RTA_DATA(kind), "gact")) {
		if ((part = find(RTA_DATA(stats), RTA_PAYLOAD(stats), TCA_STATS_QUEUE)))
			payload(part, &queue, sizeof(queue));
		fprintf(counting->file, "lost %s %u\n", counting->hop->device, queue.drops);
	}
	if (strcmp(RTA_DATA(kind), "mirred") || !(part = find(RTA_DATA(options), RTA_PAYLOAD(options), TCA_MIRRED_PARMS)))
		return;
	payload(part, &mirred, sizeof(mirred));
	if (!if_indextoname(mirred.ifindex, to))
		fail("%s: hands on to a device that is not there", counting->hop->device);
	fprintf(counting->file, "hop %s %s %llu\n", counting->hop->device, to, (unsigned long long)count_packets(stats));
}

static void count_filter(const struct nlmsghdr *message, void *context)
{
	const struct tcmsg *about = NLMSG_DATA(message);
	int left = message->nlmsg_len - NLMSG_LENGTH(sizeof(*about)), i;
	const struct rtattr *first = (const void *)((const char *)about + NLMSG_ALIGN(sizeof(*about)));
	const struct rtattr *kind = find(first, left, TCA_KIND), *options = find(first, left, TCA_OPTIONS), *actions, *action;

	if (!kind || !options)
		return;
	actions = find(RTA_DATA(options), RTA_PAYLOAD(options), strcmp(RTA_DATA(kind), "flower") ? TCA_MATCHALL_ACT : TCA_FLOWER_ACT);
	for (i = FIRST_ACTION; actions && i <= LAST_ACTION; i++)
		if ((action = find(RTA_DATA(actions), RTA_PAYLOAD(actions), i)))
			count_action(context, action);
}

/* What has passed a filter. */
struct passed {
	uint32_t priority;
	uint64_t packets, bytes;
};

static void count_passed(const struct nlmsghdr *message, void *context)
{
	const struct tcmsg *about = NLMSG_DATA(message);
	int left = message->nlmsg_len - NLMSG_LENGTH(sizeof(*about));
	const struct rtattr *first = (const void *)((const char *)about + NLMSG_ALIGN(sizeof(*about)));
	const struct rtattr *options = find(first, left, TCA_OPTIONS), *actions, *action, *stats, *part;
	struct gnet_stats_basic basic;
	struct passed *passed = context;

	actions = options && about->tcm_info >> 16 == passed->priority ? find(RTA_DATA(options), RTA_PAYLOAD(options), TCA_FLOWER_ACT) : NULL;
	action = actions ? find(RTA_DATA(actions), RTA_PAYLOAD(actions), FIRST_ACTION) : NULL;
	stats = action ? find(RTA_DATA(action), RTA_PAYLOAD(action), TCA_ACT_STATS) : NULL;
	part = stats ? find(RTA_DATA(stats), RTA_PAYLOAD(stats), TCA_STATS_BASIC) : NULL;
	if (!part)
		return;
	payload(part, &basic, sizeof(basic));
	passed->packets += count_packets(stats);
	passed->bytes += basic.bytes;
}

/* passed FLOW END in|out PACKETS BYTES */
static void count_passings(FILE *file, const struct script *script)
{
	int i, netlink;

	for (i = 0; i < script->n_passings; i++) {
		const struct passing *passing = &script->passings[i];
		struct passed passed = { .priority = passing->priority };

		netlink = open_netlink(passing->namespace);
		dump(netlink, RTM_GETTFILTER, if_nametoindex(passing->device), TC_H_MAKE(TC_H_CLSACT, passing->is_out ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS),
		     count_passed, &passed);
		close(netlink);
		fprintf(file, "passed %d %s %s %" PRIu64 " %" PRIu64 "\n", passing->flow, passing->end, passing->is_out ? "out" : "in", passed.packets,
			passed.bytes);
	}
}

/* ended FLOW END STATUS TIME */
static void count_ended(FILE *file, const struct script *script)
{
	int i;

	for (i = 0; i < 2 * script->n_flows; i++) {
		const struct flow *flow = &script->flows[i / 2];
		const struct program *program = i % 2 ? &flow->to.program : &flow->from.program;

		if (program->has_ended)
			fprintf(file, "ended %d %s %d %" PRId64 "\n", i / 2, i % 2 ? "to" : "from", program->status, program->ended_ns);
	}
}

static FILE *open_counters(void)
{
	FILE *file = fopen("counters", "ae");

	if (!file)
		fail("counters: %s", strerror(errno));
	return file;
}

static void close_counters(FILE *file)
{
	if (fclose(file))
		fail("counters: %s", strerror(errno));
}

void count_flows(struct script *script)
{
	FILE *file = open_counters();
	int i;

	for (i = 0; i < script->n_flows; i++)
		count_flow(file, script, &script->flows[i], i);
	count_passings(file, script);
	count_ended(file, script);
	close_counters(file);
}

/* out DEVICE PACKETS: what has left the queue of a device. A packet of several segments counts once here, as in the queue's drops and its length, while
 * the statistics of queues and filters count segments. */
static void count_device(const struct nlmsghdr *message, void *context)
{
	const struct ifinfomsg *about = NLMSG_DATA(message);
	int left = message->nlmsg_len - NLMSG_LENGTH(sizeof(*about));
	const struct rtattr *first = (const void *)((const char *)about + NLMSG_ALIGN(sizeof(*about)));
	const struct rtattr *name = find(first, left, IFLA_IFNAME), *stats = find(first, left, IFLA_STATS64);
	struct rtnl_link_stats64 counted;

	if (!name || !stats)
		return;
	payload(stats, &counted, sizeof(counted));
	fprintf(context, "out %s %llu\n", (const char *)RTA_DATA(name), (unsigned long long)counted.tx_packets);
}

/* What devices and filters count, as text. */
static char *count_hops(const struct script *script)
{
	struct counting counting;
	char *text = NULL;
	size_t size;
	int i;

	counting.file = open_memstream(&text, &size);
	if (!counting.file)
		fail("memory: %s", strerror(errno));
	dump(script->netlink, RTM_GETLINK, 0, 0, count_device, counting.file);
	for (i = 0; i < script->n_hops; i++) {
		counting.hop = &script->hops[i];
		dump(script->netlink, RTM_GETTFILTER, if_nametoindex(script->hops[i].device), TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), count_filter, &counting);
	}
	if (fclose(counting.file) || !text)
		fail("memory: %s", strerror(errno));
	return text;
}

/* A number that grows with each packet that comes to a queue or leaves it. */
static double moves(const struct script *script)
{
	double sum = 0;
	int i;

	for (i = 0; i < script->n_ports; i++)
		sum += 2 * (script->ports[i].packets + script->ports[i].drops) + script->ports[i].qlen;
	return sum;
}

/* A packet that moves between two readings would be counted by a filter and by no queue. Another reading tells: such a packet can be due at
 * the very instant of the end, and is handed on as soon as the agent asks the kernel for something. */
void count_ports(struct script *script)
{
	FILE *file = open_counters();
	char *hops = NULL;
	double before;
	int i, looks = 0;

	enter_namespace(script->ports_namespace);
	read_qdiscs(script);
	do {
		free(hops);
		before = moves(script);
		hops = count_hops(script);
		read_qdiscs(script);
	} while (moves(script) != before && ++looks < MOST_LOOKS);
	fputs(hops, file);
	free(hops);
	for (i = 0; i < script->n_ports; i++) {
		const struct port *port = &script->ports[i];

		fprintf(file, "queue %s %.0f %.0f %.0f %.0f %.0f %.0f\n", port->name, port->packets, port->bytes, port->drops, port->qlen, port->marks,
			port->sce_marks);
	}
	close_counters(file);
}
