/* Requests and responses over one connection: the client asks, the server answers once it has read the whole request, and the client
 * asks again after a time of thinking. Each end is watched for room while it has something to send, else for what comes. */
#include "agent.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

void start_exchange(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];

	close(flow->timer_fd);
	flow->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (flow->timer_fd < 0)
		fail("timer: %s", strerror(errno));
	watch(flow->timer_fd, EPOLLIN, TIMER, i);
	watch(flow->from.fd, EPOLLOUT, FROM, i);
	connect_to(&flow->from, &flow->to);
	flow->state = ACTIVE;
	flow->exchange.asked = 1;
}

void accept_exchange(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];

	accept_from(flow, &flow->to);
	if (flow->to.fd >= 0)
		watch(flow->to.fd, EPOLLIN, TO, i);
}

/* Sends what the socket takes of all that is due so far. */
static void send_due(const struct script *script, struct flow *flow, struct end *end, uint64_t due, enum event event, int i)
{
	if (send_bytes(end, due - end->sent) == OVER)
		close_end(script, flow, end);
	else
		change_watch(end->fd, end->sent < due ? EPOLLOUT : EPOLLIN, event, i);
}

/* The clock is read after the request has gone to the socket, since reading it takes time. */
static void ask(struct script *script, struct flow *flow, int i)
{
	struct exchange *exchange = &flow->exchange;
	uint64_t due = exchange->asked * exchange->request;
	int begins = flow->from.sent == due - exchange->request;

	send_due(script, flow, &flow->from, due, FROM, i);
	if (begins)
		exchange->begin_ns = since_epoch(script);
}

void think_is_over(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	uint64_t times;

	if (read(flow->timer_fd, &times, sizeof(times)) != sizeof(times) || flow->state != ACTIVE)
		return;
	flow->exchange.asked++;
	ask(script, flow, i);
}

static void think(const struct flow *flow)
{
	int64_t ns = flow->exchange.think_ns;
	struct itimerspec spec = { .it_value = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 } };

	if (timerfd_settime(flow->timer_fd, 0, &spec, NULL))
		fail("timer: %s", strerror(errno));
}

/* A response has been read whole: what comes next is done first, then the clock is read. */
static void go_on(struct script *script, struct flow *flow, int i)
{
	struct exchange *exchange = &flow->exchange;
	int64_t begin_ns = exchange->begin_ns, end_ns;

	exchange->answered++;
	if (exchange->answered == exchange->count) {
		send_fin(&flow->from);
		flow->state = CLOSING;
		end_ns = flow->completed_ns = since_epoch(script);
	} else if (exchange->think_ns) {
		think(flow);
		end_ns = since_epoch(script);
	} else {
		exchange->asked++;
		ask(script, flow, i);
		end_ns = exchange->begin_ns;
	}
	fprintf(exchange->transactions, "%" PRId64 " %" PRId64 "\n", begin_ns, end_ns);
}

void handle_client(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	struct exchange *exchange = &flow->exchange;

	if (flow->state == STOPPED)
		return;
	if (flow->from.sent < (uint64_t)(exchange->asked * exchange->request))
		ask(script, flow, i);
	else if (receive_bytes(&flow->from, READ_MOST) == OVER)
		close_end(script, flow, &flow->from);
	else if (flow->state == ACTIVE && flow->from.received == (uint64_t)((exchange->answered + 1) * exchange->response))
		go_on(script, flow, i);
}

void handle_server(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	struct exchange *exchange = &flow->exchange;
	uint64_t due = flow->to.received / exchange->request * exchange->response;

	if (flow->state == STOPPED)
		return;
	if (flow->to.sent == due) {
		if (receive_bytes(&flow->to, READ_MOST) == OVER) {
			close_end(script, flow, &flow->to);
			return;
		}
		due = flow->to.received / exchange->request * exchange->response;
	}
	if (flow->to.sent < due)
		send_due(script, flow, &flow->to, due, TO, i);
}

/* The client's numbers stay as they are now; neither end does anything any more. */
void stop_exchange(struct flow *flow)
{
	read_sender(flow);
	end_waiting(&flow->to);
	flow->state = STOPPED;
	unwatch(flow->timer_fd);
	if (flow->from.fd >= 0)
		unwatch(flow->from.fd);
	if (flow->to.fd >= 0)
		unwatch(flow->to.fd);
}
