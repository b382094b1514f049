/* Streaming by chunks: a player asks for chunk after chunk, each as soon as its buffer has room for it and the one before has come. How much it
 * has played decides when there is room; crates/sim/src/playback.rs says what a viewer sees of it. */
#include "../agent.h"

#include <stdlib.h>

struct streaming {
	int64_t request, chunk_ns, chunk, buffer_ns, start_at_ns; /* bytes, playing time, bytes, playing time twice */
	int64_t count; /* of chunks; -1: no end */
	struct requests requests;
	int64_t begin_ns; /* of the request that is under way */
	int64_t chunks, played_ns, now_ns;
	int is_playing;
};

/* REQUEST CHUNK-NS CHUNK-BYTES BUFFER START-AT COUNT */
static void read_streaming(struct script *script, int i, char **words)
{
	struct streaming *streaming = calloc(1, sizeof(*streaming));

	streaming->request = least(words[0], 1);
	streaming->chunk_ns = least(words[1], 1);
	streaming->chunk = least(words[2], 1);
	streaming->buffer_ns = least(words[3], streaming->chunk_ns);
	streaming->start_at_ns = least(words[4], 1);
	streaming->count = least(words[5], -1);
	script->flows[i].own = streaming;
}

static int64_t level_ns(const struct streaming *streaming)
{
	return streaming->chunks * streaming->chunk_ns - streaming->played_ns;
}

static void add_chunk(struct streaming *streaming, int64_t now_ns)
{
	int64_t passed = now_ns - streaming->now_ns;

	if (streaming->is_playing) {
		if (passed > level_ns(streaming)) {
			passed = level_ns(streaming);
			streaming->is_playing = 0;
		}
		streaming->played_ns += passed;
	}
	streaming->now_ns = now_ns;
	streaming->chunks++;
	if (level_ns(streaming) >= streaming->start_at_ns)
		streaming->is_playing = 1;
}

static void ask_next(struct script *script, int i)
{
	struct streaming *streaming = script->flows[i].own;

	ask(script, i, &streaming->requests, streaming->request, streaming->chunk);
	streaming->begin_ns = since_epoch(script);
}

static void handle_read(struct script *script, int i, struct end *end)
{
	struct flow *flow = &script->flows[i];
	struct streaming *streaming = flow->own;
	int64_t now_ns, full_at_ns;

	if (!take_read(script, i, &streaming->requests, end))
		return;
	now_ns = since_epoch(script);
	note_transaction(flow, streaming->begin_ns, now_ns);
	add_chunk(streaming, now_ns);
	full_at_ns = level_ns(streaming) + streaming->chunk_ns - streaming->buffer_ns;
	if (flow->done == streaming->count) {
		finish(flow);
		flow->completed_ns = now_ns;
	} else if (full_at_ns > 0)
		wake_at(script, flow, now_ns + full_at_ns);
	else
		ask_next(script, i);
}

static int expect(struct script *script, int i, int64_t *request, int64_t *response)
{
	const struct streaming *streaming = script->flows[i].own;

	*request = streaming->request;
	*response = streaming->chunk;
	return 1;
}

const struct application streaming = {
	.name = "streaming", .words = 6, .read_words = read_streaming, .connected = ask_next, .read = handle_read, .timer = ask_next, .expect = expect,
};
