/* Streams of datagrams of one size, evenly spaced. */
#include "agent.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

static char datagram[65536];

void start_datagrams(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];

	connect_to(&flow->from, &flow->to);
	flow->state = ACTIVE;
	close(flow->timer_fd);
	flow->timer_fd = make_timer(script, flow->start_ns, flow->interval_ns);
	watch(flow->timer_fd, EPOLLIN, TIMER, i);
}

void send_datagrams(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	uint64_t due;

	if (flow->state != ACTIVE || read(flow->timer_fd, &due, sizeof(due)) != sizeof(due))
		return;
	while (due--)
		if (send(flow->from.fd, datagram, flow->payload, MSG_NOSIGNAL) > 0)
			flow->from.sent++;
}

void receive_datagram(struct script *script, int i)
{
	struct end *to = &script->flows[i].to;
	char byte;

	if (recv(to->fd, &byte, sizeof(byte), MSG_TRUNC) > 0)
		to->received++;
}

void stop_datagrams(struct flow *flow)
{
	timerfd_settime(flow->timer_fd, 0, &(struct itimerspec){ 0 }, NULL);
	flow->state = STOPPED;
}
