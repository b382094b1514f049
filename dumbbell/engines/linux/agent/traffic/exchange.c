/* Requests and responses over one connection: the client asks, the server answers once it has read the whole request, and the client
 * asks again after a time of thinking. */
#include "../agent.h"

#include <stdlib.h>

struct exchange {
	struct amount request, response; /* bytes */
	struct amount think; /* ns, from a response's last byte to the next request */
	int64_t count;
	struct requests requests;
	int64_t begin_ns; /* of the request that is under way */
};

/* REQUEST RESPONSE COUNT THINK */
static void read_exchange(struct script *script, int i, char **words)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	exchange->request = read_amount(words[0], 1);
	exchange->response = read_amount(words[1], 1);
	exchange->count = least(words[2], 1);
	exchange->think = read_amount(words[3], 0);
	script->flows[i].own = exchange;
}

static void ask_next(struct script *script, int i)
{
	struct exchange *exchange = script->flows[i].own;
	int64_t request = next_amount(&exchange->request);

	ask(script, i, &exchange->requests, request, next_amount(&exchange->response));
}

/* The clock is read after the request has gone to the socket, since reading it takes time. */
static void begin(struct script *script, int i)
{
	struct exchange *exchange = script->flows[i].own;

	ask_next(script, i);
	exchange->begin_ns = since_epoch(script);
}

/* A response has been read whole: what comes next is done first, then the clock is read. */
static void go_on(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	struct exchange *exchange = flow->own;
	int64_t begin_ns = exchange->begin_ns, think_ns;

	if (flow->done + 1 == exchange->count) {
		finish(flow);
		flow->completed_ns = since_epoch(script);
		note_transaction(flow, begin_ns, flow->completed_ns);
		return;
	}
	think_ns = next_amount(&exchange->think);
	if (think_ns)
		wake_in(flow, think_ns);
	else
		ask_next(script, i);
	exchange->begin_ns = since_epoch(script);
	note_transaction(flow, begin_ns, exchange->begin_ns);
}

static void handle_read(struct script *script, int i, struct end *end)
{
	struct exchange *exchange = script->flows[i].own;

	if (take_read(script, i, &exchange->requests, end))
		go_on(script, i);
}

/* Both machines take the same sizes, in the same order. */
static int expect(struct script *script, int i, int64_t *request, int64_t *response)
{
	struct exchange *exchange = script->flows[i].own;

	*request = next_amount(&exchange->request);
	*response = next_amount(&exchange->response);
	return 1;
}

const struct application exchange = {
	.name = "exchange", .words = 4, .read_words = read_exchange, .connected = begin, .read = handle_read, .timer = begin, .expect = expect,
};
