/* The flows: one process, sockets in several namespaces, one epoll loop. Nothing here waits busily: under virtual time that would
 * never end. */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define CHUNK (256 << 10) /* bytes per send() */
#define SETTLE_S 2 /* from the guest's start to time 0: set-up is over by then, whatever it took */

enum kind { SAMPLE, START, STOP, SEND, LISTEN, RECEIVE, DEED, CAPTURE, END };

static int poll_fd;
static char chunk[CHUNK];

static void watch(int fd, uint32_t events, enum kind kind, int index)
{
	struct epoll_event event = { .events = events, .data.u64 = (uint64_t)kind << 32 | (uint32_t)index };

	if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event))
		fail("epoll: %s", strerror(errno));
}

static struct timespec after(struct timespec from, int64_t ns)
{
	int64_t sum = from.tv_nsec + ns;

	return (struct timespec){ .tv_sec = from.tv_sec + sum / 1000000000, .tv_nsec = sum % 1000000000 };
}

static void arm(const struct plan *plan, int fd, int64_t at_ns, int64_t interval_ns)
{
	struct itimerspec spec = { .it_value = after(plan->epoch, at_ns),
				   .it_interval = { .tv_sec = interval_ns / 1000000000, .tv_nsec = interval_ns % 1000000000 } };

	if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL))
		fail("timer: %s", strerror(errno));
}

/* Fires at `at_ns` of the run, then every `interval_ns` if that is not 0. */
static int timer(const struct plan *plan, int64_t at_ns, int64_t interval_ns)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		fail("timer: %s", strerror(errno));
	arm(plan, fd, at_ns, interval_ns);
	return fd;
}

int64_t since_epoch(const struct plan *plan)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - plan->epoch.tv_sec) * 1000000000LL + now.tv_nsec - plan->epoch.tv_nsec;
}

static void set(int fd, int level, int option, const void *value, socklen_t size, const char *what)
{
	if (setsockopt(fd, level, option, value, size))
		fail("%s: %s", what, strerror(errno));
}

static int make_socket(int type, uint32_t address, uint16_t port, const struct flow *flow)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = address };
	int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("socket: %s", strerror(errno));
	if (flow->cc)
		set(fd, IPPROTO_TCP, TCP_CONGESTION, flow->cc, strlen(flow->cc), flow->cc);
	if (flow->rcvbuf)
		set(fd, SOL_SOCKET, SO_RCVBUFFORCE, &flow->rcvbuf, sizeof(flow->rcvbuf), "rcvbuf");
	if (flow->sndbuf)
		set(fd, SOL_SOCKET, SO_SNDBUFFORCE, &flow->sndbuf, sizeof(flow->sndbuf), "sndbuf");
	if (bind(fd, (void *)&at, sizeof(at)))
		fail("bind to port %d: %s", port, strerror(errno));
	return fd;
}

void make_sockets(struct plan *plan)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	int i;

	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (poll_fd < 0)
		fail("epoll: %s", strerror(errno));
	for (i = 0; i < plan->n_flows; i++) {
		struct flow *flow = &plan->flows[i];

		enter_namespace(flow->receiver_ns);
		if (flow->interval_ns) {
			flow->receive_fd = make_socket(SOCK_DGRAM, flow->daddr, flow->dport, flow);
			watch(flow->receive_fd, EPOLLIN, RECEIVE, i);
		} else {
			flow->listen_fd = make_socket(SOCK_STREAM, flow->daddr, flow->dport, flow);
			if (listen(flow->listen_fd, 1))
				fail("listen: %s", strerror(errno));
			watch(flow->listen_fd, EPOLLIN, LISTEN, i);
		}
		enter_namespace(flow->sender_ns);
		flow->send_fd = make_socket(flow->interval_ns ? SOCK_DGRAM : SOCK_STREAM, flow->saddr, flow->sport, flow);
		if (!flow->interval_ns)
			set(flow->send_fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset), "linger");
	}
}

static void send_more(struct flow *flow)
{
	ssize_t sent;

	do {
		size_t size = sizeof(chunk);

		if (flow->bytes >= 0 && (uint64_t)flow->bytes - flow->queued < size)
			size = flow->bytes - flow->queued;
		if (!size)
			return;
		sent = send(flow->send_fd, chunk, size, MSG_NOSIGNAL);
		if (sent > 0)
			flow->queued += sent;
	} while (sent > 0);
}

static void start(struct plan *plan, int i)
{
	struct flow *flow = &plan->flows[i];
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(flow->dport), .sin_addr.s_addr = flow->daddr };

	if (!flow->interval_ns)
		watch(flow->send_fd, EPOLLOUT | EPOLLET, SEND, i);
	if (connect(flow->send_fd, (void *)&to, sizeof(to)) && errno != EINPROGRESS)
		fail("connect: %s", strerror(errno));
	flow->state = ACTIVE;
	if (flow->interval_ns) {
		close(flow->timer_fd);
		flow->timer_fd = timer(plan, flow->start_ns, flow->interval_ns);
		watch(flow->timer_fd, EPOLLIN, SEND, i);
	}
}

/* The sender's numbers stay as they are now. That its packets go nowhere from now on is a filter's work, which the plan has. */
static void stop(struct flow *flow)
{
	if (flow->interval_ns)
		timerfd_settime(flow->timer_fd, 0, &(struct itimerspec){ 0 }, NULL);
	else
		read_sender(flow);
	flow->state = STOPPED;
}

static void receive(struct plan *plan, struct flow *flow)
{
	char datagram;
	ssize_t got = flow->interval_ns ? recv(flow->receive_fd, &datagram, 1, MSG_TRUNC) : recv(flow->receive_fd, NULL, 1 << 20, MSG_TRUNC);

	if (got <= 0)
		return;
	flow->received += flow->interval_ns ? 1 : got;
	if (flow->bytes >= 0 && flow->completed_ns < 0 && flow->received >= (uint64_t)flow->bytes)
		flow->completed_ns = since_epoch(plan);
}

static void send_datagrams(struct flow *flow)
{
	uint64_t due;

	if (flow->state != ACTIVE || read(flow->timer_fd, &due, sizeof(due)) != sizeof(due))
		return;
	while (due--)
		if (send(flow->send_fd, chunk, flow->payload, MSG_NOSIGNAL) > 0)
			flow->queued++;
}

static void take_sample(struct plan *plan, int fd, int64_t *next_ns)
{
	uint64_t due;

	if (read(fd, &due, sizeof(due)) != sizeof(due))
		return;
	sample_flows(plan, *next_ns);
	sample_ports(plan, *next_ns);
	*next_ns += due * plan->sample_ns;
}

static void handle(struct plan *plan, enum kind kind, int i)
{
	struct flow *flow = &plan->flows[i];

	switch (kind) {
	case START:
		start(plan, i);
		break;
	case STOP:
		stop(flow);
		break;
	case SEND:
		if (flow->interval_ns)
			send_datagrams(flow);
		else if (flow->state == ACTIVE)
			send_more(flow);
		break;
	case LISTEN:
		flow->receive_fd = accept4(flow->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (flow->receive_fd >= 0)
			watch(flow->receive_fd, EPOLLIN, RECEIVE, i);
		break;
	case RECEIVE:
		receive(plan, flow);
		break;
	case DEED:
		run_program(plan->deeds[i].words);
		break;
	case CAPTURE:
		drain_capture(&plan->captures[i], plan->zero);
		break;
	case SAMPLE:
	case END:
		break;
	}
}

static void arm_all(struct plan *plan)
{
	int i;

	for (i = 0; i < plan->n_flows; i++) {
		struct flow *flow = &plan->flows[i];

		flow->timer_fd = timer(plan, flow->start_ns, 0);
		watch(flow->timer_fd, EPOLLIN | EPOLLONESHOT, START, i);
		if (flow->stop_ns >= 0)
			watch(timer(plan, flow->stop_ns, 0), EPOLLIN | EPOLLONESHOT, STOP, i);
	}
	for (i = 0; i < plan->n_deeds; i++)
		watch(timer(plan, plan->deeds[i].at_ns, 0), EPOLLIN | EPOLLONESHOT, DEED, i);
	for (i = 0; i < plan->n_captures; i++) {
		open_capture(&plan->captures[i]);
		watch(plan->captures[i].fd, EPOLLIN, CAPTURE, i);
	}
	watch(timer(plan, plan->duration_ns, 0), EPOLLIN | EPOLLONESHOT, END, 0);
}

void run_traffic(struct plan *plan)
{
	struct epoll_event events[64];
	int64_t next_ns = 0;
	int sampler = -1, n, i;

	struct timespec monotonic, real;

	plan->epoch = (struct timespec){ .tv_sec = SETTLE_S };
	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_REALTIME, &real);
	plan->zero = after(real, (SETTLE_S - monotonic.tv_sec) * 1000000000LL - monotonic.tv_nsec);
	if (since_epoch(plan) > 0)
		fail("set-up took longer than %d s of virtual time", SETTLE_S);
	arm_all(plan);
	if (plan->sample_ns) {
		sampler = timer(plan, 0, plan->sample_ns);
		watch(sampler, EPOLLIN, SAMPLE, 0);
	}
	for (;;) {
		n = epoll_wait(poll_fd, events, sizeof(events) / sizeof(*events), -1);
		for (i = 0; i < n; i++) {
			enum kind kind = events[i].data.u64 >> 32;

			if (kind == END) {
				if (sampler >= 0 && next_ns <= plan->duration_ns)
					take_sample(plan, sampler, &next_ns);
				for (i = 0; i < plan->n_captures; i++)
					close_capture(&plan->captures[i], plan->zero);
				return;
			}
			if (kind == SAMPLE)
				take_sample(plan, sampler, &next_ns);
			else
				handle(plan, kind, (uint32_t)events[i].data.u64);
		}
	}
}
