/* Pages of many objects over the connections of a browser: each carries one request at a time, and the next object goes to whichever is idle
 * first. A first object, if there is one, comes before the others are asked for. */
#include "../agent.h"

#include <stdlib.h>

/* A browser; its connections are flows that follow each other. */
struct page {
	int leader, connections; /* its first flow, and how many there are */
	struct amount request, first, size, think; /* bytes, bytes, bytes, ns */
	int64_t objects; /* of a page, beside the first */
	int has_first;
	int64_t count; /* of pages; -1: no end */
	int waits_for_first; /* the first object of this page has not been read whole */
	int64_t left; /* objects of this page that nobody has asked for yet */
	int64_t begin_ns;
	struct {
		struct requests requests;
		int busy; /* an object is under way */
		struct noted noted; /* if server and browser are on two machines */
	} *lanes;
};

/* Which connection asks for which object no other machine could know: the request says it. */
static void note_sizes(struct flow *flow, int which)
{
	struct page *page = flow->own;

	if (!is_here(&flow->to))
		flow->from.writes = &page->lanes[which].noted;
	else if (!is_here(&flow->from))
		flow->to.reads = &page->lanes[which].noted;
	if (flow->from.writes)
		flow->from.writes->done = sizeof(struct note);
}

/* WHICH CONNECTIONS REQUEST FIRST OBJECTS SIZE COUNT THINK: the flow is connection WHICH of its browser; a FIRST of 0 is none */
static void read_page(struct script *script, int i, char **words)
{
	int which = least(words[0], 0);
	struct page *page;

	if (which) {
		script->flows[i].own = script->flows[i - which].own;
		note_sizes(&script->flows[i], which);
		return;
	}
	page = calloc(1, sizeof(*page));
	page->leader = i;
	page->connections = least(words[1], 1);
	page->lanes = calloc(page->connections, sizeof(*page->lanes));
	page->request = read_amount(words[2], 1);
	page->first = read_amount(words[3], 0);
	page->has_first = page->first.draws || page->first.fixed;
	page->objects = least(words[4], 1);
	page->size = read_amount(words[5], 1);
	page->count = least(words[6], -1);
	page->think = read_amount(words[7], 0);
	script->flows[i].own = page;
	note_sizes(&script->flows[i], which);
}

static int any_busy(const struct page *page)
{
	int which;

	for (which = 0; which < page->connections; which++)
		if (page->lanes[which].busy)
			return 1;
	return 0;
}

/* Asks for the next objects over every connection that has nothing to do, in order. */
static void ask_where_idle(struct script *script, struct page *page)
{
	int64_t size, request;
	int which;

	for (which = 0; which < page->connections; which++) {
		if (!script->flows[page->leader + which].connected || page->lanes[which].busy)
			continue;
		if (page->waits_for_first) {
			if (any_busy(page))
				return;
			size = next_amount(&page->first);
		} else {
			if (!page->left)
				return;
			page->left--;
			size = next_amount(&page->size);
		}
		request = next_amount(&page->request);
		page->lanes[which].busy = 1;
		ask(script, page->leader + which, &page->lanes[which].requests, request, size);
	}
}

static void begin_page(struct script *script, struct page *page)
{
	page->waits_for_first = page->has_first;
	page->left = page->objects;
	ask_where_idle(script, page);
}

/* A page begins when its browser's connections are opened, and later ones when the clock is read after their first requests. */
static void start_page(struct script *script, int i)
{
	struct page *page = script->flows[i].own;

	if (i != page->leader)
		return;
	page->begin_ns = script->flows[i].start_ns;
	begin_page(script, page);
}

static void connected_page(struct script *script, int i)
{
	ask_where_idle(script, script->flows[i].own);
}

static void next_page(struct script *script, int i)
{
	struct page *page = script->flows[i].own;

	begin_page(script, page);
	page->begin_ns = since_epoch(script);
}

/* The last object has been read whole: what comes next is done first, then the clock is read. */
static void finish_page(struct script *script, struct page *page)
{
	struct flow *leader = &script->flows[page->leader];
	int64_t begin_ns = page->begin_ns, think_ns;
	int which;

	if (leader->done + 1 == page->count) {
		for (which = 0; which < page->connections; which++)
			finish(&leader[which]);
		page->begin_ns = since_epoch(script);
		for (which = 0; which < page->connections; which++)
			leader[which].completed_ns = page->begin_ns;
	} else {
		think_ns = next_amount(&page->think);
		if (think_ns)
			wake_in(leader, think_ns);
		else
			begin_page(script, page);
		page->begin_ns = since_epoch(script);
	}
	note_transaction(leader, begin_ns, page->begin_ns);
}

static void handle_read(struct script *script, int i, struct end *end)
{
	struct page *page = script->flows[i].own;
	int which = i - page->leader;

	if (!take_read(script, i, &page->lanes[which].requests, end))
		return;
	page->lanes[which].busy = 0;
	page->waits_for_first = 0;
	if (page->left)
		ask_where_idle(script, page);
	else if (!any_busy(page))
		finish_page(script, page);
}

static int expect(struct script *script, int i, int64_t *request, int64_t *response)
{
	const struct noted *noted = script->flows[i].to.reads;

	if (noted->done < sizeof(noted->note))
		return 0;
	*request = noted->note.request;
	*response = noted->note.response;
	return 1;
}

const struct application page = {
	.name = "page", .words = 8, .read_words = read_page, .start = start_page, .connected = connected_page, .read = handle_read,
	.timer = next_page, .expect = expect,
};
