/* What the kernel says of sockets that are not the agent's own: by sock_diag (inet_diag.h), which ss asks as well, and by its
 * notice of each TCP socket that is gone, with what it came to. */
#include "agent.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* tcp_states.h */
#define ESTABLISHED 1
#define TIME_WAIT 6
#define CLOSED 7
#define CLOSE_WAIT 8
#define LAST_ACK 9
#define LISTENING 10
#define CLOSING_BOTH 11

#define INET_DIAG_CUBICINFO 23 /* patch/with/state.patch of the engine kernel */
#define FIRST_CONTROL INET_DIAG_VEGASINFO /* with it each congestion control tells what it has, as the request has 8 bits */
#define ROOM (1 << 20) /* bytes of notices that may wait */

static int open_socket(const char *namespace, uint32_t groups)
{
	struct sockaddr_nl at = { .nl_family = AF_NETLINK, .nl_groups = groups };
	int fd, room = ROOM;

	enter_namespace(namespace);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | (groups ? SOCK_NONBLOCK : 0), NETLINK_SOCK_DIAG);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) || bind(fd, (void *)&at, sizeof(at)))
		fail("sock_diag: %s; the kernel has no INET_DIAG (the modules inet_diag and tcp_diag)", strerror(errno));
	return fd;
}

/* What is asked of the sockets of a namespace. */
int diag_socket(const char *namespace)
{
	return open_socket(namespace, 0);
}

/* What hears of each TCP socket of a namespace that is gone. */
int event_socket(const char *namespace)
{
	return open_socket(namespace, 1 << (SKNLGRP_INET_TCP_DESTROY - 1) | 1 << (SKNLGRP_INET6_TCP_DESTROY - 1));
}

static const int controls[] = { INET_DIAG_VEGASINFO, INET_DIAG_DCTCPINFO, INET_DIAG_BBRINFO, INET_DIAG_CUBICINFO };

static struct seen read_socket(const struct nlmsghdr *message)
{
	const struct inet_diag_msg *about = NLMSG_DATA(message);
	const struct rtattr *info = find(about + 1, message->nlmsg_len - NLMSG_LENGTH(sizeof(*about)), INET_DIAG_INFO);
	int word = about->idiag_family == AF_INET6 ? 3 : 0; /* an IPv4 address within one of IPv6 is its last word */
	struct seen seen = { .local = ntohs(about->id.idiag_sport), .remote = ntohs(about->id.idiag_dport),
			     .local_address = about->id.idiag_src[word], .remote_address = about->id.idiag_dst[word] };
	const struct rtattr *control;
	size_t i;

	seen.is_there = about->idiag_state != LISTENING && seen.remote;
	seen.is_closing = about->idiag_state == CLOSE_WAIT || about->idiag_state == LAST_ACK || about->idiag_state == CLOSING_BOTH ||
			  about->idiag_state == TIME_WAIT || about->idiag_state == CLOSED;
	seen.has_info = info && about->idiag_state != TIME_WAIT;
	if (seen.has_info)
		payload(info, &seen.info, sizeof(seen.info));
	for (i = 0; i < sizeof(controls) / sizeof(*controls); i++)
		if ((control = find(about + 1, message->nlmsg_len - NLMSG_LENGTH(sizeof(*about)), controls[i]))) {
			seen.control_size = RTA_PAYLOAD(control) < sizeof(seen.control) ? RTA_PAYLOAD(control) : sizeof(seen.control);
			payload(control, seen.control, sizeof(seen.control));
		}
	return seen;
}

/* Every socket of a family that is found is shown. One alone may not be there, and a kernel may be without IPv6. */
static void query_family(int diag, int family, int is_dump, int protocol, uint32_t states, const struct inet_diag_sockid *id, seer see, void *context)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 request;
	} question = { .header = { .nlmsg_len = sizeof(question), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
				   .nlmsg_flags = NLM_F_REQUEST | (is_dump ? NLM_F_DUMP : 0) },
		       .request = { .sdiag_family = family, .sdiag_protocol = protocol, .idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (FIRST_CONTROL - 1),
				    .idiag_states = states, .id = *id } };
	static char buffer[1 << 16];
	struct nlmsghdr *message;
	struct seen seen;
	int n;

	if (send(diag, &question, sizeof(question), 0) < 0)
		fail("sock_diag: %s", strerror(errno));
	for (;;) {
		n = recv(diag, buffer, sizeof(buffer), 0);
		if (n < 0)
			fail("sock_diag: %s", strerror(errno));
		for (message = (void *)buffer; NLMSG_OK(message, (unsigned int)n); message = NLMSG_NEXT(message, n)) {
			if (message->nlmsg_type == NLMSG_DONE)
				return;
			if (message->nlmsg_type == NLMSG_ERROR) {
				int error = -((const struct nlmsgerr *)NLMSG_DATA(message))->error;

				if ((is_dump && family == AF_INET) || error != ENOENT)
					fail("sock_diag: %s", strerror(error));
				return;
			}
			seen = read_socket(message);
			see(&seen, context);
			if (!is_dump)
				return;
		}
	}
}

/* A program may use sockets of IPv6 for IPv4. */
static void query(int diag, int is_dump, int protocol, uint32_t states, const struct inet_diag_sockid *id, seer see, void *context)
{
	query_family(diag, AF_INET, is_dump, protocol, states, id, see, context);
	if (is_dump)
		query_family(diag, AF_INET6, is_dump, protocol, states, id, see, context);
}

static void keep_first(const struct seen *seen, void *first)
{
	if (!((struct seen *)first)->local)
		*(struct seen *)first = *seen;
}

static void keep_port(const struct seen *seen, void *port)
{
	if (seen->local == *(int *)port)
		*(int *)port = 0;
}

/* A socket for datagrams is bound to the port, with nobody at its other end. */
int is_listening(int diag, uint16_t port, int over_udp)
{
	struct inet_diag_sockid id = { .idiag_sport = htons(port), .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } };
	int wanted = port;

	query(diag, 1, over_udp ? IPPROTO_UDP : IPPROTO_TCP, over_udp ? 1 << CLOSED : 1 << LISTENING, &id, keep_port, &wanted);
	return !wanted;
}

/* The socket of an end; is_there is 0 if there is none. One of whose ports is not known yet (0) is looked for among all. */
struct seen look_up(int diag, const struct end *end, const struct end *other)
{
	struct inet_diag_sockid id = { .idiag_sport = htons(end->port), .idiag_dport = htons(other->port), .idiag_src = { end->address },
				       .idiag_dst = { other->address }, .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } };
	int is_dump = !end->port || !other->port;
	struct seen first = { 0 };

	query(diag, is_dump, IPPROTO_TCP, is_dump ? 1 << ESTABLISHED : ~0U, &id, keep_first, &first);
	return first;
}

/* Each socket of an end that listens to nobody; of any of its ports that are not known (0). */
void look_at_all(int diag, const struct end *end, const struct end *other, seer see, void *context)
{
	struct inet_diag_sockid id = { .idiag_sport = htons(end->port), .idiag_dport = htons(other->port), .idiag_src = { end->address },
				       .idiag_dst = { other->address }, .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } };

	query(diag, 1, IPPROTO_TCP, ~(1U << LISTENING), &id, see, context);
}

/* False if there is no further notice. */
int next_gone(int events, struct seen *seen)
{
	static char buffer[1 << 16];
	const struct nlmsghdr *message = (void *)buffer;
	int n = recv(events, buffer, sizeof(buffer), 0);

	if (n < 0 && errno == ENOBUFS)
		fail("sock_diag: notices of sockets that are gone were lost");
	if (n < 0)
		return 0;
	*seen = NLMSG_OK(message, (unsigned int)n) && message->nlmsg_type == SOCK_DIAG_BY_FAMILY ? read_socket(message) : (struct seen){ 0 };
	return 1;
}
