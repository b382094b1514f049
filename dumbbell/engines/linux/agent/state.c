/* State of senders and of queue disciplines, as the kernel tells it: TCP_INFO and TCP_CC_INFO of the senders, the statistics that a discipline has
 * of its own (TCA_STATS_APP), and those of its classes, where the flows of fq_codel and cake are classes. The agent writes the structures as they
 * are; state.py takes them apart. A record is a time of 64 bits, two sizes of 32 bits, then as many bytes. */
#include "agent.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static void write_record(FILE *file, int64_t t_ns, const void *first, uint32_t first_size, const void *second, uint32_t second_size)
{
	const struct {
		int64_t t_ns;
		uint32_t sizes[2];
	} head = { t_ns, { first_size, second_size } };

	if (fwrite(&head, sizeof(head), 1, file) != 1 || fwrite(first, 1, first_size, file) != first_size ||
	    fwrite(second, 1, second_size, file) != second_size)
		fail("states: %s", strerror(errno));
}

/* What a congestion control tells; none if it tells nothing. That of another program's socket comes with its TCP_INFO. */
static void read_control(struct end *end)
{
	socklen_t size = sizeof(end->control);

	if (end->fd < 0)
		return;
	if (getsockopt(end->fd, IPPROTO_TCP, TCP_CC_INFO, end->control, &size))
		fail("TCP_CC_INFO: %s", strerror(errno));
	end->control_size = size;
}

/* After its TCP_INFO has been read. */
void write_sender_state(struct flow *flow, int64_t t_ns)
{
	struct end *end = &flow->from;

	if (!flow->states)
		return;
	if (flow->traffic != PROGRAMS && (flow->state == ACTIVE || flow->state == CLOSING))
		read_control(end);
	write_record(flow->states, t_ns, &end->info, sizeof(end->info), end->control, end->control_size);
}

/* Bytes that grow. */
static void append(struct bytes *bytes, const void *from, size_t size)
{
	if (bytes->size + size > bytes->room) {
		bytes->room = 2 * (bytes->size + size);
		bytes->data = reserve(bytes->data, bytes->room);
	}
	memcpy(bytes->data + bytes->size, from, size);
	bytes->size += size;
}

/* What a discipline tells of itself. */
void keep_statistics(struct port *port, const struct rtattr *app)
{
	port->statistics.size = 0;
	append(&port->statistics, RTA_DATA(app), RTA_PAYLOAD(app));
}

/* A class: how many packets it holds, how long its own statistics are, and those. */
static void keep_class(const struct nlmsghdr *message, void *context)
{
	struct port *port = context;
	const struct tcmsg *about = NLMSG_DATA(message);
	const struct rtattr *first = (const void *)((const char *)about + NLMSG_ALIGN(sizeof(*about)));
	const struct rtattr *stats = find(first, message->nlmsg_len - NLMSG_LENGTH(sizeof(*about)), TCA_STATS2), *app, *part;
	struct gnet_stats_queue queue = { 0 };
	uint32_t head[2];

	if (!stats || about->tcm_handle >> 16 != port->leaf || !(app = find(RTA_DATA(stats), RTA_PAYLOAD(stats), TCA_STATS_APP)))
		return;
	if ((part = find(RTA_DATA(stats), RTA_PAYLOAD(stats), TCA_STATS_QUEUE)))
		payload(part, &queue, sizeof(queue));
	head[0] = queue.qlen;
	head[1] = RTA_PAYLOAD(app);
	append(&port->classes, head, sizeof(head));
	append(&port->classes, RTA_DATA(app), head[1]);
}

/* After its statistics have been read. */
void write_queue_state(struct port *port, int64_t t_ns)
{
	if (!port->states)
		return;
	port->classes.size = 0;
	if (port->has_classes)
		dump(port->netlink, RTM_GETTCLASS, port->index, port->leaf << 16, keep_class, port);
	write_record(port->states, t_ns, port->statistics.data, port->statistics.size, port->classes.data, port->classes.size);
}
