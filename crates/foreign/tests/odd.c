/* A control that does what its parameter `does` says, one second after the start; and with -D a table that is wrong. A loop makes the file
 * ODD_LOOPS first. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "dumbbell_cc.h"

#ifndef NO_TABLE
#define NO_TABLE 0
#endif
#ifndef TABLE
#define TABLE DUMBBELL_THIS_INTERFACE, .ssthresh = ssthresh, .cong_avoid = cong_avoid, .create = create
#endif

static const char *doings[] = { "nothing", "segv", "abort", "exit", "loop", "zero", "huge", "threshold", "flag", "lost", "rate" };
enum { NOTHING, SEGV, ABORT, EXIT, LOOP, ZERO, HUGE, THRESHOLD, FLAG, LOST, RATE };

static int does;

/* Says that it was loaded, if anybody asks. */
__attribute__((constructor)) static void loaded(void)
{
	const char *command = getenv("ODD_LOADED");

	if (command != NULL)
		exit(system(command));
}

void *create(const struct dumbbell_parameter *parameters, size_t count, char *error, size_t error_size)
{
	for (size_t i = 0; i < sizeof(doings) / sizeof(*doings); i++) {
		if (count == 1 && strcmp(parameters[0].value, doings[i]) == 0) {
			does = (int)i;
			return &does;
		}
	}
	strncpy(error, "it does nothing of that kind", error_size);
	return NULL;
}

uint32_t ssthresh(void *state, const struct dumbbell_view *view, const struct dumbbell_window *window)
{
	(void)state;
	return does == THRESHOLD && view->mstamp_us >= 1000000 ? 0 : window->cwnd / 2 + 1;
}

void cong_avoid(void *state, const struct dumbbell_view *view, struct dumbbell_window *window, uint32_t acked)
{
	(void)state;
	window->cwnd += acked;
	if (view->mstamp_us < 1000000)
		return;
	switch (does) {
	case SEGV:
		*(volatile int *)8 = 1;
		break;
	case ABORT:
		abort();
	case EXIT:
		exit(0);
	case LOOP:
		if (getenv("ODD_LOOPS") != NULL)
			creat(getenv("ODD_LOOPS"), 0600);
		for (volatile int forever = 1; forever;)
			;
		break;
	case ZERO:
		window->cwnd = 0;
		break;
	case HUGE:
		window->cwnd = 1u << 30;
		break;
	case FLAG:
		memset(&window->enters_cwr, 7, 1);
		break;
	}
}

void cong_control(void *state, const struct dumbbell_view *view, struct dumbbell_window *window, const struct dumbbell_sample *sample)
{
	cong_avoid(state, view, window, sample->acked);
	window->pacing_rate = does == RATE && view->mstamp_us >= 1000000 ? 0 : 10000000;
}

void lost(void *state, const struct dumbbell_view *view, struct dumbbell_window *window, const struct dumbbell_lost *segment)
{
	(void)state;
	if (does == LOST && segment->seq < view->snd_nxt && segment->tx_in_flight > 0)
		window->cwnd = 0;
}

#ifndef NO_SYMBOL
const struct dumbbell_control *dumbbell_cc_v1(void)
{
	static const struct dumbbell_control control = { TABLE };

	return NO_TABLE ? NULL : &control;
}
#endif
