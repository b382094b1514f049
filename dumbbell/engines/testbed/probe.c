/* Asks machines across a path for an answer, and how long that takes. Its standard input has a line for each question:
 *
 *     icmp FROM TO BYTES MOST        an echo request that makes an IP packet of so many bytes, which nobody may cut into pieces
 *     tcp FROM PORT TO PORT MOST     a SYN, which somebody accepts or, as a rule, refuses; a port of 0 is whichever is free
 *
 * Addresses of hosts, of which FROM is this one's; MOST in ns: an answer within it is good enough. The ports are what filters on the path
 * tell flows by. Of each line it prints the shortest time of several tries in ns, or -1 if nothing came back. Questions
 * begin 2 ms apart, echo requests first, and the least of the tries counts, as others may be in a queue on the way. It ends with whoever
 * started it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/icmp.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PRIORITY 5 /* of SCHED_FIFO, as that of the agent: an answer is read when it is there */
#define TRIES 8
#define SPACE_NS 2000000LL /* from one question to the next */
#define LONGER_NS 500000000LL /* than MOST an answer is waited for */
#define MOST_BYTES 65535
#define MS_NS 1000000LL

struct question {
	int is_icmp;
	struct sockaddr_in from, to;
	int bytes;
	int64_t most_ns, best_ns;
	int tries, is_over;
	int fd; /* -1: it is not asked just now */
	int64_t due_ns, asked_ns;
};

static struct question *questions;
static struct pollfd *polled;
static int count;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static uint16_t checksum(const void *from, size_t bytes)
{
	const uint8_t *at = from;
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i < bytes; i++)
		sum += i % 2 ? at[i] : at[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

/* Echo requests are known by the place of their question and the number of the try. */
static void send_echo(const struct question *it)
{
	static char packet[MOST_BYTES];
	size_t bytes = it->bytes - sizeof(struct iphdr);
	struct icmphdr header = { .type = ICMP_ECHO, .un.echo = { htons(it - questions), htons(it->tries) } };

	memcpy(packet, &header, sizeof(header));
	header.checksum = checksum(packet, bytes);
	memcpy(packet, &header, sizeof(header));
	/* One that is too large for a device is as one that does not come back. */
	if (sendto(it->fd, packet, bytes, 0, (const void *)&it->to, sizeof(it->to)) < 0 && errno != EMSGSIZE)
		fail("echo request", strerror(errno));
}

static void ask(struct question *it)
{
	struct linger at_once = { .l_onoff = 1 };
	int on = 1, whole = IP_PMTUDISC_PROBE;

	it->fd = socket(AF_INET, (it->is_icmp ? SOCK_RAW : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, it->is_icmp ? IPPROTO_ICMP : 0);
	if (it->fd < 0 || setsockopt(it->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    setsockopt(it->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) ||
	    setsockopt(it->fd, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof(whole)))
		fail("socket", strerror(errno));
	if (bind(it->fd, (const void *)&it->from, sizeof(it->from)))
		fail(inet_ntoa(it->from.sin_addr), strerror(errno));
	it->tries++;
	it->asked_ns = now_ns();
	if (it->is_icmp)
		send_echo(it);
	else if (connect(it->fd, (const void *)&it->to, sizeof(it->to)) && errno != EINPROGRESS && errno != ECONNREFUSED)
		fail(inet_ntoa(it->to.sin_addr), strerror(errno));
}

/* Whether what is there to read is its answer; of a SYN whatever ends the wait is, unless it says that the other end is not there. */
static int is_answered(const struct question *it)
{
	static char packet[MOST_BYTES];
	const struct iphdr *outer = (const void *)packet;
	struct icmphdr header;
	socklen_t size = sizeof(int);
	int error = 0;
	ssize_t got;

	if (!it->is_icmp)
		return !getsockopt(it->fd, SOL_SOCKET, SO_ERROR, &error, &size) && (!error || error == ECONNREFUSED);
	got = recv(it->fd, packet, sizeof(packet), 0);
	if (got < (ssize_t)sizeof(*outer) || got < (ssize_t)(outer->ihl * 4 + sizeof(header)))
		return 0;
	memcpy(&header, packet + outer->ihl * 4, sizeof(header));
	return header.type == ICMP_ECHOREPLY && outer->saddr == it->to.sin_addr.s_addr && got >= it->bytes &&
	       header.un.echo.id == htons(it - questions) && header.un.echo.sequence == htons(it->tries);
}

static void end_try(struct question *it, int64_t at_ns)
{
	close(it->fd);
	it->fd = -1;
	it->due_ns = at_ns + SPACE_NS;
	it->is_over = it->tries == TRIES || (it->best_ns >= 0 && it->best_ns <= it->most_ns);
}

/* Asks what is due, and hears answers until the next question is. False: all of the kind are over. */
static int turn(int is_icmp)
{
	int64_t now = now_ns(), next = INT64_MAX, wait_ns;
	int i, left = 0;

	for (i = 0; i < count; i++) {
		struct question *it = &questions[i];

		polled[i].fd = -1;
		if (it->is_icmp != is_icmp || it->is_over)
			continue;
		if (it->fd >= 0 && now - it->asked_ns > it->most_ns + LONGER_NS)
			end_try(it, now);
		if (it->fd < 0 && !it->is_over && it->due_ns <= now)
			ask(it);
		left |= !it->is_over;
		if (it->is_over)
			continue;
		wait_ns = it->fd < 0 ? it->due_ns : it->asked_ns + it->most_ns + LONGER_NS;
		next = wait_ns < next ? wait_ns : next;
		polled[i] = (struct pollfd){ .fd = it->fd, .events = is_icmp ? POLLIN : POLLOUT };
	}
	if (!left)
		return 0;
	now = now_ns();
	wait_ns = next > now ? next - now : 0;
	if (ppoll(polled, count, &(struct timespec){ wait_ns / 1000000000, wait_ns % 1000000000 }, NULL) < 0)
		fail("poll", strerror(errno));
	now = now_ns();
	for (i = 0; i < count; i++) {
		struct question *it = &questions[i];

		if (polled[i].fd < 0 || !polled[i].revents)
			continue;
		if (is_answered(it))
			it->best_ns = it->best_ns < 0 || now - it->asked_ns < it->best_ns ? now - it->asked_ns : it->best_ns;
		else if (is_icmp)
			continue;
		end_try(it, now);
	}
	return 1;
}

static int read_line(const char *line, struct question *it)
{
	char from[16], to[16];
	long long most_ns = 0;
	int port = 0, other = 0;

	*it = (struct question){ .best_ns = -1, .fd = -1 };
	it->is_icmp = sscanf(line, "icmp %15s %15s %d %lld", from, to, &it->bytes, &most_ns) == 4;
	if (!it->is_icmp && sscanf(line, "tcp %15s %d %15s %d %lld", from, &port, to, &other, &most_ns) != 5)
		return 0;
	it->most_ns = most_ns;
	it->from = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	it->to = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(other) };
	return inet_aton(from, &it->from.sin_addr) && inet_aton(to, &it->to.sin_addr) &&
	       (!it->is_icmp || (it->bytes >= (int)(sizeof(struct iphdr) + sizeof(struct icmphdr)) && it->bytes <= MOST_BYTES));
}

int main(void)
{
	struct sched_param param = { .sched_priority = PRIORITY };
	char line[128];
	int kind, i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1);
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
	while (fgets(line, sizeof(line), stdin)) {
		questions = realloc(questions, (count + 1) * sizeof(*questions));
		if (!questions || !read_line(line, &questions[count]))
			fail("expected icmp FROM TO BYTES MOST, or tcp FROM PORT TO PORT MOST", line);
		count++;
	}
	polled = calloc(count + 1, sizeof(*polled));
	if (!polled)
		fail("memory", strerror(errno));
	for (kind = 1; kind >= 0; kind--) {
		for (i = 0; i < count; i++)
			questions[i].due_ns = now_ns() + i * SPACE_NS;
		while (turn(kind))
			;
	}
	for (i = 0; i < count; i++)
		printf("%lld\n", (long long)questions[i].best_ns);
	return 0;
}
