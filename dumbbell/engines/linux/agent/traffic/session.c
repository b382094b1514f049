/* Applications over TCP connections that stay open: what exchanges, sources, pages and players have in common. An application says what its
 * ends have to send, and hears what they have read. Each end is watched for room while it has something to send, else for what comes. */
#include "../agent.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* A number as it is, or the name of a file with a number on each line, which are taken one after the other; a plain one is at least
 * `at_least`. */
struct amount read_amount(const char *word, int64_t at_least)
{
	struct amount amount = { 0 };

	if (strncmp(word, "draws-", 6)) {
		amount.fixed = least(word, at_least);
		return amount;
	}
	amount.name = word;
	amount.draws = fopen(word, "re");
	if (!amount.draws)
		fail("%s: %s", word, strerror(errno));
	return amount;
}

int64_t next_amount(struct amount *amount)
{
	long long number;

	if (!amount->draws)
		return amount->fixed;
	if (fscanf(amount->draws, "%lld", &number) != 1)
		fail("%s: there are not as many draws as the run takes", amount->name);
	return number;
}

static struct end *opener_of(struct flow *flow)
{
	return flow->opened_by_to ? &flow->to : &flow->from;
}

static struct end *listener_of(struct flow *flow)
{
	return flow->opened_by_to ? &flow->from : &flow->to;
}

static enum event event_at(const struct flow *flow, const struct end *end)
{
	return end == &flow->from ? FROM : TO;
}

static void connected(struct script *script, int i)
{
	script->flows[i].connected = 1;
	script->flows[i].application->connected(script, i);
}

void start_session(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];

	if (!is_here(&flow->from) && !flow->opened_by_to)
		return; /* it begins when the connection comes */
	close(flow->timer_fd);
	flow->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (flow->timer_fd < 0)
		fail("timer: %s", strerror(errno));
	watch(flow->timer_fd, EPOLLIN, TIMER, i);
	if (is_here(opener_of(flow))) {
		watch_end(opener_of(flow), flow->opened_by_to ? EPOLLIN : EPOLLOUT, event_at(flow, opener_of(flow)), i);
		connect_to(opener_of(flow), listener_of(flow));
	}
	flow->state = ACTIVE;
	if (flow->application->start && is_here(&flow->from))
		flow->application->start(script, i);
	/* Whoever opens on another machine may be early. */
	if (flow->opened_by_to && flow->from.fd >= 0)
		connected(script, i);
}

void accept_session(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	struct end *listener = listener_of(flow);

	accept_from(flow, listener);
	if (listener->fd < 0)
		return;
	watch_end(listener, EPOLLIN, event_at(flow, listener), i);
	/* The other machine has begun, which may be before this has: what comes is to be heard. */
	if (!is_here(&flow->from) && flow->state == WAITING)
		flow->state = ACTIVE;
	else if (is_here(&flow->from) && flow->opened_by_to && flow->state == ACTIVE)
		connected(script, i);
}

/* The kernel may go on with what is due, or with reading up to where the application has something to do. That it stops too early, as more
 * has become due since, does no harm. */
static void set_errand(const struct flow *flow, struct end *end)
{
	int is_due = end->sent < end->due;

	end->errand = flow->state != ACTIVE || end->writes || end->reads ? NONE : is_due ? WRITE_ONCE : READ;
	end->until = is_due ? end->due : end->awaited;
}

/* Sends what the socket takes of all that is due so far. */
static void send_due(struct script *script, int i, struct end *end)
{
	struct flow *flow = &script->flows[i];

	if (send_bytes(end, end->due - end->sent) == OVER)
		close_end(script, flow, end);
	else
		change_watch(end->fd, end->sent < end->due ? EPOLLOUT : EPOLLIN, event_at(flow, end), i);
}

/* The application writes: what the socket does not take now waits. */
void write_bytes(struct script *script, int i, struct end *end, int64_t bytes)
{
	int waits = end->sent < end->due;

	end->due += bytes;
	if (!waits && bytes && end->fd >= 0)
		send_due(script, i, end);
	set_errand(&script->flows[i], end);
}

static void handle_end(struct script *script, int i, struct end *end)
{
	struct flow *flow = &script->flows[i];
	int64_t got;

	if (flow->state == STOPPED || end->fd < 0)
		return;
	if (end->sent < end->due) {
		send_due(script, i, end);
	} else {
		got = receive_bytes(end, READ_MOST);
		if (got == OVER)
			close_end(script, flow, end);
		else if (got && flow->state == ACTIVE)
			flow->application->read(script, i, end);
	}
	set_errand(flow, end);
}

void handle_session_from(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];

	if (flow->connected || flow->state != ACTIVE) {
		handle_end(script, i, &flow->from);
		return;
	}
	change_watch(flow->from.fd, EPOLLIN, FROM, i);
	connected(script, i);
}

void handle_session_to(struct script *script, int i)
{
	handle_end(script, i, &script->flows[i].to);
}

/* Sets the application's timer to a time of the run. */
void wake_at(const struct script *script, const struct flow *flow, int64_t at_ns)
{
	struct itimerspec spec = { .it_value = after(script->epoch, at_ns) };

	if (timerfd_settime(flow->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL))
		fail("timer: %s", strerror(errno));
}

/* Sets it to some time from now on, without reading the clock. */
void wake_in(const struct flow *flow, int64_t ns)
{
	struct itimerspec spec = { .it_value = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 } };

	if (timerfd_settime(flow->timer_fd, 0, &spec, NULL))
		fail("timer: %s", strerror(errno));
}

void handle_session_timer(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	uint64_t times;

	if (read(flow->timer_fd, &times, sizeof(times)) == sizeof(times) && flow->state == ACTIVE)
		flow->application->timer(script, i);
}

/* `from` has sent all: it closes, and `to` when it has read to the end. What was never connected is given up. */
void finish(struct flow *flow)
{
	if (flow->connected) {
		send_fin(&flow->from);
	} else if (flow->from.fd >= 0) {
		close(flow->from.fd);
		flow->from.fd = -1;
	}
	flow->state = CLOSING;
}

/* The numbers of `from` stay as they are now; neither end does anything any more. */
void stop_session(struct flow *flow)
{
	read_sender(flow);
	end_waiting(&flow->from);
	end_waiting(&flow->to);
	flow->state = STOPPED;
	unwatch(flow->timer_fd);
	if (flow->from.fd >= 0)
		unwatch(flow->from.fd);
	if (flow->to.fd >= 0)
		unwatch(flow->to.fd);
}

/* --- requests and responses, one at a time --- */

void ask(struct script *script, int i, struct requests *requests, int64_t request, int64_t response)
{
	requests->asked += request;
	requests->answered += response;
	requests->owed = response;
	script->flows[i].from.awaited = requests->answered;
	script->flows[i].to.awaited = requests->asked;
	if (script->flows[i].from.writes)
		*script->flows[i].from.writes = (struct noted){ .note = { request, response } };
	write_bytes(script, i, &script->flows[i].from, request);
}

/* An end has read more: the server answers once it has the whole request. True if the client has read a whole response. */
int take_read(struct script *script, int i, struct requests *requests, const struct end *end)
{
	struct flow *flow = &script->flows[i];
	int64_t received = end->received, request, response;

	if (end == &flow->from)
		return received == requests->answered;
	if (!is_here(&flow->from) && !requests->owed && received > requests->asked) {
		if (!flow->application->expect(script, i, &request, &response))
			return 0;
		requests->asked += request;
		requests->owed = response;
	}
	if (received == requests->asked && requests->owed) {
		response = requests->owed;
		requests->owed = 0;
		if (flow->to.reads)
			flow->to.reads->done = 0;
		write_bytes(script, i, &flow->to, response);
	}
	return 0;
}

/* Something that the application of flow `i` has waited for is over. */
void note_transaction(struct flow *flow, int64_t begin_ns, int64_t end_ns)
{
	flow->done++;
	fprintf(flow->transactions, "%lld %lld\n", (long long)begin_ns, (long long)end_ns);
}
