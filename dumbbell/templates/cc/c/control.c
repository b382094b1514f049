/* @NAME@: additive increase, multiplicative decrease. The window grows by `increase` segments a round trip, and `beta` percent of it are
 * left after a loss. dumbbell_cc.h says what else a control may do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dumbbell_cc.h"

/* Of a connection. */
struct state {
	uint32_t increase, beta;
};

/* A whole number from `least` to `most`; 0 if it is none. */
static uint32_t number(const char *text, unsigned long least, unsigned long most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	return end != text && *end == '\0' && least <= value && value <= most ? (uint32_t)value : 0;
}

static void *create(const struct dumbbell_parameter *parameters, size_t count, char *error, size_t error_size)
{
	struct state *s = malloc(sizeof(*s));

	if (s == NULL)
		return NULL;
	*s = (struct state){ .increase = 1, .beta = 50 };
	for (size_t i = 0; i < count; i++) {
		const char *name = parameters[i].name, *value = parameters[i].value;
		uint32_t found = 0;

		if (strcmp(name, "increase") == 0)
			found = s->increase = number(value, 1, 1000);
		else if (strcmp(name, "beta") == 0)
			found = s->beta = number(value, 1, 99);
		if (found == 0) {
			snprintf(error, error_size, "%s is %s; increase is 1 to 1000, beta 1 to 99 percent", name, value);
			free(s);
			return NULL;
		}
	}
	return s;
}

static uint32_t ssthresh(void *state, const struct dumbbell_view *view, const struct dumbbell_window *window)
{
	const struct state *s = state;
	uint32_t left = (uint32_t)((uint64_t)window->cwnd * s->beta / 100);

	(void)view;
	return left > 2 ? left : 2;
}

static void cong_avoid(void *state, const struct dumbbell_view *view, struct dumbbell_window *window, uint32_t acked)
{
	const struct state *s = state;
	bool slow_start = window->cwnd < window->ssthresh;

	/* A window that does not limit sending says nothing about the path. */
	if (!view->is_cwnd_limited && !(slow_start && window->cwnd < 2 * view->max_packets_out))
		return;
	if (slow_start) {
		uint32_t room = window->ssthresh - window->cwnd;
		uint32_t taken = acked < room ? acked : room;

		window->cwnd += taken;
		acked -= taken;
	}
	window->cwnd_cnt += acked * s->increase;
	while (window->cwnd_cnt >= window->cwnd) {
		window->cwnd_cnt -= window->cwnd;
		window->cwnd++;
	}
}

const struct dumbbell_control *dumbbell_cc_v1(void)
{
	static const struct dumbbell_control control = {
		DUMBBELL_THIS_INTERFACE,
		.create = create,
		.destroy = free,
		.ssthresh = ssthresh,
		.cong_avoid = cong_avoid,
	};

	return &control;
}
