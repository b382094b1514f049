/* What all sockets share: they are made and bound before time 0, in the namespaces of their ends, and none ever blocks. */
#include "agent.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK (256 << 10) /* most bytes per send() */

static char chunk[CHUNK];

static void set(int fd, int level, int option, const void *value, socklen_t size, const char *what)
{
	if (setsockopt(fd, level, option, value, size))
		fail("%s: %s", what, strerror(errno));
}

/* Has connections end with this process, without a goodbye: what waits for one keeps its port from the next run. */
void abort_connections(void)
{
	struct linger at_once = { .l_onoff = 1 };
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!folder)
		return;
	/* What is no socket refuses. */
	while ((entry = readdir(folder)))
		setsockopt(atoi(entry->d_name), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	closedir(folder);
}

/* In real time the other end of a flow may be on another machine. */
int is_here(const struct end *end)
{
	return strcmp(end->namespace, "-");
}

/* A socket that is bound to an end of a flow. */
int make_socket(const struct flow *flow, const struct end *end)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(end->port), .sin_addr.s_addr = end->address };
	int type = SOCK_STREAM, protocol = 0, fd, on = 1;

	enter_namespace(end->namespace);
	if (flow->traffic == DATAGRAMS && flow->datagrams.icmp) {
		/* Of a ping socket the port is the identifier of its requests. */
		type = end == &flow->from ? SOCK_DGRAM : SOCK_RAW;
		protocol = IPPROTO_ICMP;
	} else if (flow->traffic == DATAGRAMS) {
		type = SOCK_DGRAM;
	}
	fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
	if (fd < 0)
		fail("socket: %s", strerror(errno));
	/* Connections of a run that was killed may still hold the port, in TIME_WAIT or while they close. */
	if (type == SOCK_STREAM)
		set(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on), "reuseaddr");
	if (flow->cc)
		set(fd, IPPROTO_TCP, TCP_CONGESTION, flow->cc, strlen(flow->cc), flow->cc);
	if (flow->rcvbuf)
		set(fd, SOL_SOCKET, SO_RCVBUFFORCE, &flow->rcvbuf, sizeof(flow->rcvbuf), "rcvbuf");
	if (flow->sndbuf)
		set(fd, SOL_SOCKET, SO_SNDBUFFORCE, &flow->sndbuf, sizeof(flow->sndbuf), "sndbuf");
	if (flow->dscp || flow->ecn) {
		int tos = flow->dscp << 2 | flow->ecn;

		set(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos), "dscp");
	}
	if (flow->mss)
		set(fd, IPPROTO_TCP, TCP_MAXSEG, &flow->mss, sizeof(flow->mss), "mss");
	if (flow->nodelay)
		set(fd, IPPROTO_TCP, TCP_NODELAY, &flow->nodelay, sizeof(flow->nodelay), "nodelay");
	if (flow->max_pacing_rate)
		set(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &flow->max_pacing_rate, sizeof(flow->max_pacing_rate), "max_pacing_rate");
	if (type == SOCK_RAW)
		set_echo_filter(fd);
	if (bind(fd, (void *)&at, sizeof(at)))
		fail("bind to port %d: %s", end->port, strerror(errno));
	return fd;
}

void make_sockets(struct script *script)
{
	int i;

	for (i = 0; i < script->n_flows; i++) {
		struct flow *flow = &script->flows[i];
		struct end *opener = flow->opened_by_to ? &flow->to : &flow->from;
		struct end *listener = flow->opened_by_to ? &flow->from : &flow->to;

		if (flow->traffic == PROGRAMS)
			continue;
		if (is_here(opener))
			opener->fd = make_socket(flow, opener);
		if (!is_here(listener))
			continue;
		if (flow->traffic == DATAGRAMS) {
			listener->fd = make_socket(flow, listener);
			listener->errand = flow->datagrams.measured ? NONE : COUNT;
			listener->until = UINT64_MAX;
			watch_end(listener, EPOLLIN, TO, i);
			continue;
		}
		flow->listen_fd = make_socket(flow, listener);
		if (listen(flow->listen_fd, 1))
			fail("listen: %s", strerror(errno));
		watch(flow->listen_fd, EPOLLIN, LISTEN, i);
	}
}

/* Begins to connect; that it succeeds is an event like any other. */
void connect_to(const struct end *opener, const struct end *listener)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(listener->port), .sin_addr.s_addr = listener->address };

	if (connect(opener->fd, (void *)&to, sizeof(to)) && errno != EINPROGRESS)
		fail("connect: %s", strerror(errno));
}

/* Sets the listener's socket if a connection is there. */
void accept_from(struct flow *flow, struct end *listener)
{
	listener->fd = accept4(flow->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

/* The socket took nothing. If that is because all in its buffer is sent, TCP_INFO does not count the time: the kernel looks at the buffer only
 * when it sends, and all of it went before the application was told to wait. The clock, which takes time to read, is only asked then. */
static void wait_for_room(struct end *end)
{
	const struct tcp_info *info = &end->info;
	uint32_t in_flight;

	if (end->waits_since_ns)
		return;
	read_info(end);
	in_flight = info->tcpi_unacked - info->tcpi_sacked - info->tcpi_lost + info->tcpi_retrans;
	if (!info->tcpi_notsent_bytes && info->tcpi_unacked && in_flight < info->tcpi_snd_cwnd)
		end->waits_since_ns = now_ns();
}

/* How long an end has waited for room so far, ns. */
int64_t waited_for_room(const struct end *end)
{
	return end->waited_ns + (end->waits_since_ns ? now_ns() - end->waits_since_ns : 0);
}

/* It waits no longer. */
void end_waiting(struct end *end)
{
	end->waited_ns = waited_for_room(end);
	end->waits_since_ns = 0;
}

/* The result of the call that the kernel has made for the agent, as if the agent had made it now. */
static ssize_t take_result(struct end *end)
{
	end->has_result = 0;
	if (end->result >= 0)
		return end->result;
	errno = -end->result;
	return -1;
}

/* One recv() of which the bytes are of no interest. */
ssize_t receive_rest(struct end *end, size_t most)
{
	return end->has_result ? take_result(end) : recv(end->fd, NULL, most, MSG_TRUNC);
}

/* One send() of at most so many bytes: what the socket took, or OVER if the connection is dead. */
int64_t send_bytes(struct end *end, uint64_t most)
{
	size_t noted = end->writes ? sizeof(end->writes->note) - end->writes->done : 0;
	ssize_t sent;

	if (noted)
		memcpy(chunk, (const char *)&end->writes->note + end->writes->done, noted);
	sent = end->has_result ? take_result(end) : send(end->fd, chunk, most < CHUNK ? most : CHUNK, MSG_NOSIGNAL);
	if (noted) {
		memset(chunk, 0, noted);
		end->writes->done += sent < 0 ? 0 : (size_t)sent < noted ? (size_t)sent : noted;
	}
	if (sent < 0) {
		if (errno != EAGAIN)
			return OVER;
		wait_for_room(end);
		return 0;
	}
	end_waiting(end);
	end->sent += sent;
	return sent;
}

/* One recv() of at most so many bytes: those, or OVER if the other end has sent a FIN or the connection is dead. */
int64_t receive_bytes(struct end *end, uint64_t most)
{
	struct noted *noted = end->reads;
	ssize_t got;

	if (noted && noted->done < sizeof(noted->note)) {
		got = recv(end->fd, (char *)&noted->note + noted->done, sizeof(noted->note) - noted->done, 0);
		noted->done += got > 0 ? got : 0;
	} else {
		got = receive_rest(end, most);
	}
	if (got < 0 && errno == EAGAIN)
		return 0;
	if (got <= 0)
		return OVER;
	end->received += got;
	return got;
}

/* Of an end that is closed the last reading stays. */
void read_info(struct end *end)
{
	socklen_t size = sizeof(end->info);

	if (end->fd >= 0 && getsockopt(end->fd, IPPROTO_TCP, TCP_INFO, &end->info, &size))
		fail("TCP_INFO: %s", strerror(errno));
}

/* After close_end() packets still come and go, such as the ACK of the FIN. */
void read_last_packets(struct end *end)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);

	if (!end->closed_fd)
		return;
	if (getsockopt(end->closed_fd, IPPROTO_TCP, TCP_INFO, &info, &size))
		fail("TCP_INFO: %s", strerror(errno));
	end->info.tcpi_segs_out = info.tcpi_segs_out;
	end->info.tcpi_segs_in = info.tcpi_segs_in;
	end->info.tcpi_total_retrans = info.tcpi_total_retrans;
}

/* The connection is closed when both ends are; `at` is one of its. The socket stays, because it counts on. */
void close_end(const struct script *script, struct flow *flow, struct end *at)
{
	read_info(at);
	if (!at->reads_bps)
		unwatch(at->fd);
	send_fin(at);
	at->closed_fd = at->fd;
	at->fd = -1;
	if (flow->from.fd < 0 && flow->to.fd < 0)
		flow->closed_ns = since_epoch(script);
}

/* Sends the FIN that close() would send. close() itself would put TCP_INFO out of reach while data are still on their way. */
void send_fin(const struct end *end)
{
	shutdown(end->fd, SHUT_WR);
}
