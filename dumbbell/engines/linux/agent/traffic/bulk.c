/* Bulk transfers: `from` sends all it has, or without end, and `to` reads it as it comes. */
#include "../agent.h"

#include <sys/epoll.h>
#include <unistd.h>

#define TURN_NS 10000000 /* from one turn of an application that reads at a rate to the next */
#define BITS_AND_TURNS (8 * (1000000000 / TURN_NS)) /* a byte has and a second has */

/* The kernel may fill the sender's socket, and read what the receiver takes at once, up to the last byte. */
static void set_errands(struct flow *flow)
{
	flow->from.errand = flow->state == ACTIVE ? WRITE : NONE;
	flow->from.until = flow->bytes < 0 ? UINT64_MAX : (uint64_t)flow->bytes;
	flow->to.errand = flow->to.reads_bps ? READ_IN_TURNS : READ;
	flow->to.until = flow->bytes < 0 || flow->completed_ns >= 0 ? UINT64_MAX : (uint64_t)flow->bytes;
}

/* The socket's buffer is filled each time that it has become writable. */
static void watch_sender(struct flow *flow, int i)
{
	watch_end(&flow->from, EPOLLOUT | EPOLLET, FROM, i);
	set_errands(flow);
}

/* The receiver reads as data come, or when it is its turn. */
static void watch_receiver(struct flow *flow, int i)
{
	if (!flow->to.reads_bps)
		watch_end(&flow->to, EPOLLIN, TO, i);
	set_errands(flow);
}

void start_bulk(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];

	if (flow->to.reads_bps && is_here(&flow->to)) {
		close(flow->timer_fd);
		flow->timer_fd = make_timer(script, flow->start_ns + TURN_NS, TURN_NS);
		watch_turns(&flow->to, flow->timer_fd, i);
	}
	if (!is_here(flow->opened_by_to ? &flow->to : &flow->from)) {
		/* Its other end is here, and waits for the connection. */
	} else if (flow->opened_by_to) {
		watch_receiver(flow, i);
		connect_to(&flow->to, &flow->from);
	} else {
		watch_sender(flow, i);
		connect_to(&flow->from, &flow->to);
	}
	flow->state = ACTIVE;
	set_errands(flow);
	/* Whoever opens on another machine may be early: what was heard of the socket then was for nothing. */
	if (flow->opened_by_to && flow->from.fd >= 0)
		change_watch(flow->from.fd, EPOLLOUT | EPOLLET, FROM, i);
}

void accept_bulk(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	struct end *listener = flow->opened_by_to ? &flow->from : &flow->to;

	accept_from(flow, listener);
	if (listener->fd < 0)
		return;
	if (flow->opened_by_to)
		watch_sender(flow, i);
	else
		watch_receiver(flow, i);
}

static void send_more(struct flow *flow)
{
	uint64_t left;

	do {
		left = flow->bytes < 0 ? UINT64_MAX : flow->bytes - flow->from.sent;
	} while (left && send_bytes(&flow->from, left) > 0);
}

/* Once it has sent its FIN, the sender only waits for the other end's. */
void handle_bulk_from(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];

	if (flow->state == CLOSING) {
		if (receive_bytes(&flow->from, READ_MOST) == OVER)
			close_end(script, flow, &flow->from);
		return;
	}
	if (flow->state != ACTIVE)
		return;
	send_more(flow);
	if (flow->closes && flow->from.sent == (uint64_t)flow->bytes) {
		send_fin(&flow->from);
		flow->state = CLOSING;
		set_errands(flow);
		change_watch(flow->from.fd, EPOLLIN, FROM, i);
	}
}

static void read_bytes(struct script *script, struct flow *flow, uint64_t most)
{
	int64_t got = receive_bytes(&flow->to, most);

	if (got == OVER)
		close_end(script, flow, &flow->to);
	else if (got && flow->bytes >= 0 && flow->completed_ns < 0 && flow->to.received >= (uint64_t)flow->bytes)
		flow->completed_ns = since_epoch(script);
	set_errands(flow);
}

void handle_bulk_to(struct script *script, int i)
{
	read_bytes(script, &script->flows[i], READ_MOST);
}

/* The bytes that are due after so many turns. */
static uint64_t due(const struct end *end, uint64_t turns)
{
	return turns * end->reads_bps / BITS_AND_TURNS;
}

/* Turns of an application that reads at a rate: what was not there last time is not made up for. The kernel may have read already. */
void read_at_rate(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	struct end *to = &flow->to;
	uint64_t times = 0, most;

	if (!to->has_result && read(flow->timer_fd, &times, sizeof(times)) != sizeof(times))
		return;
	to->turns += times;
	most = due(to, to->turns) - due(to, to->turns - times);
	if (to->fd >= 0 && (most || to->has_result))
		read_bytes(script, flow, most);
}

/* The sender's numbers stay as they are now. That its packets go nowhere from now on is a filter's work, which the script has. */
void stop_bulk(struct flow *flow)
{
	read_sender(flow);
	end_waiting(&flow->from);
	if (flow->state == CLOSING && flow->from.fd >= 0)
		unwatch(flow->from.fd);
	flow->state = STOPPED;
	set_errands(flow);
}
