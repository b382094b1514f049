/* Transfers over connections that come and go, as they are listed in a file: of each connection four numbers of 64 bits, the time of
 * connect() in ns, the bytes to send, its class (which is of no interest here), and source and destination port (the upper and the lower
 * half). What came of each stands in another file, in the same order.
 *
 * No two connections have the same two ports, so that none meets another's TIME_WAIT. Source ports are bound explicitly, with
 * SO_REUSEADDR: another connection from the same port may be in TIME_WAIT. */
#include "../agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MOST_FILES (1 << 20)
#define BACKLOG 65535

/* As it is in the file. */
struct listed {
	uint64_t at_ns, bytes, class, ports;
};

/* What is written of each. */
struct came {
	uint64_t taken_ns; /* from connect() to the last byte read; the largest number: it was not read */
	uint64_t received, sent_packets, retransmits, arrived_packets, delivered, delivered_ce, acks_arrived;
};

/* A connection that was made. */
struct connection {
	struct end from, to;
	int group; /* among the lines of the script */
	int closing; /* the sender has sent its FIN */
	uint64_t bytes;
	int64_t begin_ns;
	struct came *came;
};

/* A line of the script. */
struct group {
	struct flow like; /* the namespaces, addresses, congestion control and buffers of all */
	const char *came;
	struct listed *listed;
	int n, made;
	int first; /* number of its first connection among those of all lines */
	int timer_fd;
};

/* A socket that connections of a line go to. */
struct listener {
	int fd, group;
};

static struct group *groups;
static int n_groups, n_connections, n_listeners;
static struct connection **connections; /* NULL: not made yet, or both ends are closed */
static struct came *all_came;
static struct listener *listeners;
/* The numbers of the connections of all lines, found by line and ports; 0 is none, else one more. */
static uint32_t *places;
static uint32_t mask;

static uint32_t hashed(int group, uint32_t ports)
{
	return ((uint64_t)(ports ^ (uint32_t)group << 27) * 0x9e3779b97f4a7c15ULL) >> 32 & mask;
}

static uint32_t ports_of(const struct group *group, int i)
{
	uint64_t ports = group->listed[i].ports;

	return (uint32_t)(ports >> 32) << 16 | (ports & 0xffff);
}

/* The connection of a line between two ports; -1 if there is none. */
static int find_connection(int g, uint32_t ports)
{
	uint32_t at;

	for (at = hashed(g, ports); places[at]; at = (at + 1) & mask) {
		int i = places[at] - 1 - groups[g].first;

		if (i >= 0 && i < groups[g].n && ports_of(&groups[g], i) == ports)
			return places[at] - 1;
	}
	return -1;
}

void read_transfers(const struct flow *like, const char *list, const char *came)
{
	struct group *group;
	FILE *file = fopen(list, "re");
	long size;

	groups = grow(groups, n_groups, sizeof(*groups));
	group = &groups[n_groups++];
	group->like = *like;
	group->came = came;
	group->first = n_connections;
	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET))
		fail("%s: %s", list, strerror(errno));
	group->n = size / sizeof(*group->listed);
	group->listed = malloc(size + 1);
	if (!group->listed || fread(group->listed, sizeof(*group->listed), group->n, file) != (size_t)group->n || fclose(file))
		fail("%s: cannot be read", list);
	n_connections += group->n;
}

static void make_places(void)
{
	int g, i;

	for (mask = 1; mask < 2 * (uint32_t)n_connections + 1; mask *= 2)
		;
	places = calloc(mask, sizeof(*places));
	connections = calloc(n_connections + 1, sizeof(*connections));
	all_came = calloc(n_connections + 1, sizeof(*all_came));
	if (!places || !connections || !all_came)
		fail("out of memory");
	for (i = 0; i < n_connections; i++)
		all_came[i].taken_ns = UINT64_MAX;
	mask--;
	for (g = 0; g < n_groups; g++)
		for (i = 0; i < groups[g].n; i++) {
			uint32_t at = hashed(g, ports_of(&groups[g], i));

			while (places[at])
				at = (at + 1) & mask;
			places[at] = groups[g].first + i + 1;
		}
}

static void make_listener(int g, uint16_t port)
{
	struct end end = groups[g].like.to;

	end.port = port;
	listeners = grow(listeners, n_listeners, sizeof(*listeners));
	listeners[n_listeners] = (struct listener){ make_socket(&groups[g].like, &end), g };
	if (listen(listeners[n_listeners].fd, BACKLOG))
		fail("listen: %s", strerror(errno));
	watch(listeners[n_listeners].fd, EPOLLIN, TRANSFER_LISTEN, n_listeners);
	n_listeners++;
}

void make_transfers(void)
{
	struct rlimit files = { MOST_FILES, MOST_FILES };
	int g, i;

	if (!n_groups)
		return;
	if (setrlimit(RLIMIT_NOFILE, &files))
		fail("open files: %s", strerror(errno));
	make_places();
	for (g = 0; g < n_groups; g++) {
		char known[1 << 16] = { 0 };

		for (i = 0; i < groups[g].n; i++) {
			uint16_t port = groups[g].listed[i].ports & 0xffff;

			if (!known[port]++ && is_here(&groups[g].like.to))
				make_listener(g, port);
			known[port] = 1;
		}
	}
}

/* Wakes up when the next connection of a line is due; never again after the last. */
static void set_timer(const struct script *script, const struct group *group)
{
	int64_t at_ns = group->made < group->n ? (int64_t)group->listed[group->made].at_ns : 0;
	int64_t ns = script->epoch.tv_nsec + at_ns;
	struct itimerspec spec = { .it_value = { .tv_sec = script->epoch.tv_sec + ns / 1000000000, .tv_nsec = ns % 1000000000 } };

	if (group->made == group->n)
		memset(&spec, 0, sizeof(spec));
	if (timerfd_settime(group->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL))
		fail("timer: %s", strerror(errno));
}

void arm_transfers(struct script *script)
{
	int g;

	for (g = 0; g < n_groups; g++) {
		if (!is_here(&groups[g].like.from))
			continue;
		groups[g].timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		if (groups[g].timer_fd < 0)
			fail("timer: %s", strerror(errno));
		watch(groups[g].timer_fd, EPOLLIN, TRANSFER_DUE, g);
		set_timer(script, &groups[g]);
	}
}

static struct connection *make_connection(const struct group *group, int g, int number)
{
	const struct listed *listed = &group->listed[number - group->first];
	struct connection *c = calloc(1, sizeof(*c));

	if (!c)
		fail("out of memory");
	connections[number] = c;
	c->group = g;
	c->bytes = listed->bytes;
	c->begin_ns = listed->at_ns;
	c->came = &all_came[number];
	c->from = group->like.from;
	c->to = group->like.to;
	c->from.port = listed->ports >> 32;
	c->to.port = listed->ports & 0xffff;
	return c;
}

static void begin_connection(struct group *group, int g)
{
	int number = group->first + group->made++;
	struct connection *c = make_connection(group, g, number);

	c->from.fd = make_socket(&group->like, &c->from);
	c->from.errand = WRITE;
	c->from.until = c->bytes;
	watch_end(&c->from, EPOLLOUT | EPOLLET, TRANSFER_FROM, number);
	connect_to(&c->from, &c->to);
}

/* All that are due at the same time. */
void transfer_is_due(struct script *script, int g)
{
	struct group *group = &groups[g];
	uint64_t times, at_ns = group->listed[group->made].at_ns;

	if (read(group->timer_fd, &times, sizeof(times)) != sizeof(times))
		return;
	while (group->made < group->n && group->listed[group->made].at_ns == at_ns)
		begin_connection(group, g);
	set_timer(script, group);
}

/* A call of accept() that finds none takes time: this takes one, and is called again if there are more. */
void accept_transfer(int listener)
{
	struct sockaddr_in peer;
	socklen_t size = sizeof(peer);
	int g = listeners[listener].group, number;
	struct connection *c;
	struct sockaddr_in own;
	socklen_t own_size = sizeof(own);
	int fd = accept4(listeners[listener].fd, (void *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (getsockname(fd, (void *)&own, &own_size))
		fail("getsockname: %s", strerror(errno));
	number = find_connection(g, (uint32_t)ntohs(peer.sin_port) << 16 | ntohs(own.sin_port));
	/* Of a machine that begins them only this is heard. */
	if (number >= 0 && !connections[number] && !is_here(&groups[g].like.from) && !all_came[number].received)
		make_connection(&groups[g], g, number);
	if (number < 0 || !connections[number])
		fail("a connection from port %d that is not in the list", ntohs(peer.sin_port));
	c = connections[number];
	c->to.fd = fd;
	c->to.errand = READ;
	c->to.until = c->bytes;
	watch_end(&c->to, EPOLLIN, TRANSFER_TO, number);
}

static void read_came(struct connection *c)
{
	const struct tcp_info *from = &c->from.info, *to = &c->to.info;

	read_info(&c->from);
	read_info(&c->to);
	c->came->received = c->to.received;
	c->came->sent_packets = from->tcpi_segs_out;
	c->came->retransmits = from->tcpi_total_retrans;
	c->came->arrived_packets = to->tcpi_segs_in;
	c->came->delivered = from->tcpi_delivered;
	c->came->delivered_ce = from->tcpi_delivered_ce;
	c->came->acks_arrived = from->tcpi_segs_in;
}

static void close_one(int number, struct end *end)
{
	struct connection *c = connections[number];

	read_came(c);
	close(end->fd);
	end->fd = -1;
	if (c->from.fd >= 0 || c->to.fd >= 0)
		return;
	connections[number] = NULL;
	free(c);
}

/* Once it has sent its FIN, the sender only waits for the other end's. */
void handle_transfer_from(int number)
{
	struct connection *c = connections[number];

	if (c->closing) {
		if (receive_bytes(&c->from, READ_MOST) == OVER)
			close_one(number, &c->from);
		return;
	}
	while (c->from.sent < c->bytes && send_bytes(&c->from, c->bytes - c->from.sent) > 0)
		;
	if (c->from.sent == c->bytes) {
		send_fin(&c->from);
		c->closing = 1;
		c->from.errand = NONE;
		change_watch(c->from.fd, EPOLLIN, TRANSFER_FROM, number);
	}
}

void handle_transfer_to(struct script *script, int number)
{
	struct connection *c = connections[number];

	if (receive_bytes(&c->to, READ_MOST) == OVER)
		close_one(number, &c->to);
	else if (c->came->taken_ns == UINT64_MAX && c->to.received >= c->bytes)
		c->came->taken_ns = since_epoch(script) - c->begin_ns;
}

/* What came of those that the end of the run cuts off is read now. */
void write_transfers(void)
{
	int g, i;

	for (g = 0; g < n_groups; g++) {
		FILE *file = fopen(groups[g].came, "we");

		if (!file)
			fail("%s: %s", groups[g].came, strerror(errno));
		for (i = 0; i < groups[g].n; i++) {
			struct connection *c = connections[groups[g].first + i];

			if (c)
				read_came(c);
		}
		if (fwrite(all_came + groups[g].first, sizeof(*all_came), groups[g].n, file) != (size_t)groups[g].n || fclose(file))
			fail("%s: %s", groups[g].came, strerror(errno));
	}
}
