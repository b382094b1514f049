/* What the kernel says of queues and filters, by rtnetlink. Unlike running tc it takes no virtual time. */
#include "agent.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#define BUFFER (256 << 10)

int open_netlink(const char *namespace)
{
	int size = 1 << 20, fd;

	enter_namespace(namespace);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)))
		fail("netlink: %s", strerror(errno));
	return fd;
}

/* Asks for all of a type (of a device and parent, if not 0) and has each answer read. */
void dump(int netlink, int type, int index, uint32_t parent, reader read, void *context)
{
	struct {
		struct nlmsghdr header;
		struct tcmsg about;
	} request = { .header = { .nlmsg_len = sizeof(request), .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		      .about = { .tcm_family = AF_UNSPEC, .tcm_ifindex = index, .tcm_parent = parent } };
	static char buffer[BUFFER];
	struct nlmsghdr *message;
	int n;

	if (send(netlink, &request, sizeof(request), 0) < 0)
		fail("netlink: %s", strerror(errno));
	for (;;) {
		n = recv(netlink, buffer, sizeof(buffer), 0);
		if (n < 0)
			fail("netlink: %s", strerror(errno));
		for (message = (void *)buffer; NLMSG_OK(message, (unsigned int)n); message = NLMSG_NEXT(message, n)) {
			if (message->nlmsg_type == NLMSG_DONE)
				return;
			if (message->nlmsg_type == NLMSG_ERROR)
				fail("netlink: request %d is refused", type);
			read(message, context);
		}
	}
}

const struct rtattr *find(const void *from, int left, int type)
{
	const struct rtattr *a;

	for (a = from; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if ((a->rta_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

/* Copies an attribute; what it is too short for is 0. */
void *payload(const struct rtattr *attribute, void *to, size_t size)
{
	size_t there = RTA_PAYLOAD(attribute);

	memset(to, 0, size);
	return memcpy(to, RTA_DATA(attribute), there < size ? there : size);
}

/* Packets counted by nested statistics; beyond 32 bits they have an attribute of their own. */
uint64_t count_packets(const struct rtattr *stats)
{
	const struct rtattr *basic = find(RTA_DATA(stats), RTA_PAYLOAD(stats), TCA_STATS_BASIC);
	const struct rtattr *wide = find(RTA_DATA(stats), RTA_PAYLOAD(stats), TCA_STATS_PKT64);
	struct gnet_stats_basic counted = { 0 };
	uint64_t packets;

	if (wide)
		return *(uint64_t *)payload(wide, &packets, sizeof(packets));
	if (basic)
		payload(basic, &counted, sizeof(counted));
	return counted.packets;
}
