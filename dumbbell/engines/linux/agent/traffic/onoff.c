/* A source with a rate of its own: `from` produces data in writes of one size at a regular pace, always or in periods with pauses between. What
 * the socket does not take waits and is late; the source does not slow down. */
#include "../agent.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_PAUSE_NS 1000 /* between two bursts */

/* A write that was not read whole yet. */
struct written {
	int64_t end; /* bytes up to its last */
	int64_t at_ns;
};

struct onoff {
	int64_t write, interval_ns;
	enum { ALWAYS, FOR_A_TIME, FOR_A_SIZE } on;
	struct amount period, off; /* ns or bytes; ns */
	int64_t begin_ns, on_until_ns, left; /* of this period: when it began, when it ends, bytes that are left */
	int64_t next_ns; /* when the next write is due */
	int64_t produced, kept; /* bytes; of these, what waits for the connection */
	struct written *unread; /* a ring */
	int room, first, count;
};

/* WRITE INTERVAL always|time|bytes PERIOD OFF */
static void read_onoff(struct script *script, int i, char **words)
{
	struct onoff *onoff = calloc(1, sizeof(*onoff));

	onoff->write = least(words[0], 1);
	onoff->interval_ns = least(words[1], 0);
	onoff->on = !strcmp(words[2], "time") ? FOR_A_TIME : !strcmp(words[2], "bytes") ? FOR_A_SIZE : ALWAYS;
	onoff->period = read_amount(words[3], 0);
	onoff->off = read_amount(words[4], 0);
	script->flows[i].own = onoff;
}

static void begin_period(struct onoff *onoff, int64_t at_ns)
{
	onoff->next_ns = at_ns;
	if (onoff->on == FOR_A_TIME)
		onoff->on_until_ns = at_ns + next_amount(&onoff->period);
	else if (onoff->on == FOR_A_SIZE)
		onoff->left = next_amount(&onoff->period);
}

static void push(struct onoff *onoff, struct written written)
{
	struct written *larger;
	int i;

	if (onoff->count == onoff->room) {
		larger = malloc((2 * onoff->room + 16) * sizeof(*larger));
		if (!larger)
			fail("out of memory");
		for (i = 0; i < onoff->count; i++)
			larger[i] = onoff->unread[(onoff->first + i) % onoff->room];
		free(onoff->unread);
		onoff->unread = larger;
		onoff->room = 2 * onoff->room + 16;
		onoff->first = 0;
	}
	onoff->unread[(onoff->first + onoff->count++) % onoff->room] = written;
}

/* The next write, of which the size is returned, and when the one behind it is due. Times are those of the plan, not of the clock. */
static int64_t next_write(struct onoff *onoff)
{
	int64_t bytes = onoff->write, at_ns = onoff->next_ns, end_ns = -1, off_ns;

	if (onoff->on == FOR_A_SIZE) {
		if (!onoff->interval_ns || onoff->left < bytes)
			bytes = onoff->left;
		onoff->left -= bytes;
	}
	onoff->produced += bytes;
	push(onoff, (struct written){ onoff->produced, at_ns });
	onoff->next_ns += onoff->interval_ns;
	if (onoff->on == FOR_A_TIME && onoff->next_ns >= onoff->on_until_ns)
		end_ns = onoff->on_until_ns;
	else if (onoff->on == FOR_A_SIZE && !onoff->left)
		end_ns = onoff->next_ns;
	if (end_ns >= 0) {
		off_ns = next_amount(&onoff->off);
		if (!onoff->interval_ns && off_ns < LEAST_PAUSE_NS)
			off_ns = LEAST_PAUSE_NS;
		begin_period(onoff, end_ns + off_ns);
	}
	return bytes;
}

/* Produces what is due now. */
static void produce(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	struct onoff *onoff = flow->own;
	int64_t bytes = next_write(onoff);

	if (flow->connected)
		write_bytes(script, i, &flow->from, bytes);
	else
		onoff->kept += bytes;
	wake_at(script, flow, onoff->next_ns);
}

static void start_onoff(struct script *script, int i)
{
	begin_period(script->flows[i].own, script->flows[i].start_ns);
	produce(script, i);
}

static void connected_onoff(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	struct onoff *onoff = flow->own;

	write_bytes(script, i, &flow->from, onoff->kept);
	onoff->kept = 0;
}

static void handle_read(struct script *script, int i, struct end *end)
{
	struct flow *flow = &script->flows[i];
	struct onoff *onoff = flow->own;
	int64_t now_ns = 0;

	/* Of a source on another machine it is known what it writes, and when. */
	if (!is_here(&flow->from) && !onoff->produced)
		begin_period(onoff, flow->start_ns);
	while (!is_here(&flow->from) && onoff->produced < (int64_t)end->received)
		next_write(onoff);
	while (onoff->count && onoff->unread[onoff->first].end <= (int64_t)end->received) {
		if (!now_ns)
			now_ns = since_epoch(script);
		note_transaction(flow, onoff->unread[onoff->first].at_ns, now_ns);
		onoff->first = (onoff->first + 1) % onoff->room;
		onoff->count--;
	}
	end->awaited = onoff->count ? onoff->unread[onoff->first].end : 0;
}

const struct application onoff = {
	.name = "onoff", .words = 5, .from_is_source = 1, .read_words = read_onoff, .start = start_onoff, .connected = connected_onoff, .read = handle_read,
	.timer = produce,
};
