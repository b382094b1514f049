/* What it all comes to, read at one instant: flows, queues, and what each filter handed on or dropped. One line each. */
#include "agent.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define FIRST_ACTION 1
#define LAST_ACTION 32 /* TCA_ACT_MAX_PRIO */

/* flow INDEX KEY VALUE */
static void count_flow(FILE *file, struct flow *flow, int i)
{
	struct tcp_info receiver = { 0 };
	socklen_t size = sizeof(receiver);

	fprintf(file, "flow %d received %llu\n", i, (unsigned long long)flow->received);
	if (flow->interval_ns) {
		fprintf(file, "flow %d sent %llu\n", i, (unsigned long long)flow->queued);
		return;
	}
	read_sender(flow);
	if (flow->receive_fd >= 0 && getsockopt(flow->receive_fd, IPPROTO_TCP, TCP_INFO, &receiver, &size))
		fail("TCP_INFO: %s", strerror(errno));
	fprintf(file, "flow %d sent_packets %u\nflow %d retransmits %u\nflow %d arrived_packets %u\n", i, flow->sender.tcpi_data_segs_out, i,
		flow->sender.tcpi_total_retrans, i, receiver.tcpi_data_segs_in);
	fprintf(file, "flow %d delivered %u\nflow %d delivered_ce %u\nflow %d acks_arrived %u\n", i, flow->sender.tcpi_delivered, i,
		flow->sender.tcpi_delivered_ce, i, flow->sender.tcpi_segs_in);
	if (flow->completed_ns >= 0)
		fprintf(file, "flow %d completed_ns %lld\n", i, (long long)flow->completed_ns);
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

void write_counters(struct plan *plan)
{
	struct counting counting = { .file = fopen("counters", "we") };
	int i;

	if (!counting.file)
		fail("counters: %s", strerror(errno));
	read_qdiscs(plan);
	enter_namespace(plan->ports_ns);
	for (i = 0; i < plan->n_hops; i++) {
		counting.hop = &plan->hops[i];
		dump(RTM_GETTFILTER, if_nametoindex(plan->hops[i].device), TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS), count_filter, &counting);
	}
	for (i = 0; i < plan->n_ports; i++) {
		const struct port *port = &plan->ports[i];

		fprintf(counting.file, "queue %s %.0f %.0f %.0f %.0f %.0f\n", port->device, port->packets, port->bytes, port->drops, port->qlen,
			port->marks);
	}
	for (i = 0; i < plan->n_flows; i++)
		count_flow(counting.file, &plan->flows[i], i);
	if (fclose(counting.file))
		fail("counters: %s", strerror(errno));
}
