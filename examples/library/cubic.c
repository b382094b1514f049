/* CUBIC with HyStart in C, as dumbbell's own `cubic`: the same windows to the last segment (RFC 9438 in the integers of Linux 6.12's
 * tcp_cubic.c, for stacks that count segments). Parameters: beta, fast_convergence, tcp_friendliness, hystart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dumbbell_cc.h"

typedef const struct dumbbell_view View;
typedef struct dumbbell_window Window;
typedef const struct dumbbell_sample Sample;

#define BETA_SCALE 1024u
/* With less, the Reno estimate of a window of 2 segments never ends. */
#define LEAST_BETA 205
#define TIME_SHIFT 10
#define CURVE_SHIFT 40
#define BIC_SCALE 41
#define HYSTART_LOW_WINDOW 16
#define HYSTART_MIN_SAMPLES 8
#define HYSTART_DELAY_MIN_US 4000u
#define HYSTART_DELAY_MAX_US 16000u
#define HYSTART_ACK_DELTA_US 2000
/* Largest TSO segment that a device takes, bytes. */
#define GSO_MAX_SIZE (65536 - 321)

/* What is forgotten after a timeout. */
struct curve {
	uint32_t cnt, last_max_cwnd, last_cwnd, last_time;
	uint32_t origin_point, k, delay_min_us, epoch_start;
	uint32_t ack_cnt, tcp_cwnd;
};

struct hystart {
	bool enabled, done;
	uint32_t samples, round_start_us, end_seq, last_ack_us, round_rtt_us;
};

struct cubic {
	struct curve curve;
	struct hystart hystart;
	uint32_t beta, friendly_scale;
	bool fast_convergence, tcp_friendliness;
};

static uint32_t min(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t max(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* --- the window, as every control of Linux treats it ---------------------------------------- */

static bool in_slow_start(Window *w) { return w->cwnd < w->ssthresh; }

/* The window limits sending, so that it may grow. */
static bool is_limiting(View *v, Window *w)
{
	if (v->is_cwnd_limited && !(v->slow_start_ignores_limited_flag && in_slow_start(w)))
		return true;
	return in_slow_start(w) && w->cwnd < 2 * v->max_packets_out;
}

/* Slow start if it is time for it; returns the segments that are left for congestion avoidance. */
static uint32_t beyond_slow_start(View *v, Window *w, uint32_t acked)
{
	uint32_t cwnd;

	if (!in_slow_start(w))
		return v->is_cwnd_limited ? acked : 0;
	if (!is_limiting(v, w))
		return 0;
	cwnd = min(w->cwnd + acked, w->ssthresh);
	acked -= cwnd - w->cwnd;
	w->cwnd = cwnd;
	return acked;
}

/* One more segment for every `every` acknowledged. */
static void additive_increase(Window *w, uint32_t every, uint32_t acked)
{
	if (w->cwnd_cnt >= every) {
		w->cwnd_cnt = 0;
		w->cwnd++;
	}
	w->cwnd_cnt += acked;
	if (w->cwnd_cnt >= every) {
		uint32_t delta = w->cwnd_cnt / every;

		w->cwnd_cnt -= delta * every;
		w->cwnd += delta;
	}
}

/* --- the curve --------------------------------------------------------------------------- */

/* Integer cube root: a table for the leading bits, then one Newton-Raphson step. */
static uint32_t cubic_root(uint64_t a)
{
	static const uint8_t v[64] = {
		0,   54,  54,  54,  118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173,
		176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222,
		224, 225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
	};
	uint32_t bits = a ? 64 - (uint32_t)__builtin_clzll(a) : 0, b;
	uint64_t x;

	if (bits < 7)
		return (v[a] + 35u) >> 6;
	b = ((bits * 84) >> 8) - 1;
	x = ((v[a >> (b * 3)] + 10u) << b) >> 6;
	x = 2 * x + a / (x * (x - 1));
	return (uint32_t)((x * 341) >> 10);
}

static void follow_curve(struct cubic *c, View *v, uint32_t cwnd, uint32_t acked)
{
	struct curve *u = &c->curve;
	uint64_t scale = BIC_SCALE * 10, time, offset;
	uint32_t delta, target;
	int64_t ticks;

	if (u->epoch_start == 0) {
		u->epoch_start = v->jiffies;
		u->ack_cnt = acked;
		u->tcp_cwnd = cwnd;
		if (u->last_max_cwnd <= cwnd) {
			u->k = 0;
			u->origin_point = cwnd;
		} else {
			u->k = cubic_root((((uint64_t)1 << CURVE_SHIFT) / scale) * (u->last_max_cwnd - cwnd));
			u->origin_point = u->last_max_cwnd;
		}
	}
	ticks = (int32_t)(v->jiffies - u->epoch_start);
	ticks += (int64_t)(((uint64_t)u->delay_min_us * v->hz + 999999) / 1000000);
	time = ((uint64_t)ticks << TIME_SHIFT) / v->hz;
	offset = time < u->k ? u->k - time : time - u->k;
	delta = (uint32_t)((scale * offset * offset * offset) >> CURVE_SHIFT);
	target = time < u->k ? u->origin_point - delta : u->origin_point + delta;
	u->cnt = target > cwnd ? cwnd / (target - cwnd) : 100 * cwnd;
	/* Without a plateau yet, grow by at least 5 % an RTT. */
	if (u->last_max_cwnd == 0)
		u->cnt = min(u->cnt, 20);
}

/* Never slower than Reno would be. */
static uint32_t friendly(struct cubic *c, uint32_t cwnd)
{
	struct curve *u = &c->curve;
	uint32_t per_increase = (cwnd * c->friendly_scale) >> 3;

	while (u->ack_cnt > per_increase) {
		u->ack_cnt -= per_increase;
		u->tcp_cwnd++;
	}
	return u->tcp_cwnd > cwnd ? min(u->cnt, cwnd / (u->tcp_cwnd - cwnd)) : u->cnt;
}

/* Plans after how many segments the window grows. */
static void update(struct cubic *c, View *v, uint32_t cwnd, uint32_t acked)
{
	struct curve *u = &c->curve;

	u->ack_cnt += acked;
	if (u->last_cwnd == cwnd && (int32_t)(v->jiffies - u->last_time) <= (int32_t)(v->hz / 32))
		return;
	if (u->epoch_start == 0 || v->jiffies != u->last_time) {
		u->last_cwnd = cwnd;
		u->last_time = v->jiffies;
		follow_curve(c, v, cwnd, acked);
	}
	if (c->tcp_friendliness)
		u->cnt = friendly(c, cwnd);
	u->cnt = max(u->cnt, 2);
}

/* --- HyStart ----------------------------------------------------------------------------- */

static void hystart_reset(struct hystart *h, View *v)
{
	h->round_start_us = h->last_ack_us = (uint32_t)v->mstamp_us;
	h->end_seq = v->snd_nxt;
	h->round_rtt_us = UINT32_MAX;
	h->samples = 0;
}

/* ACKs have followed each other closely for as long as the path can hold data one way. */
static bool is_train(struct hystart *h, View *v, Window *w, uint32_t delay_min_us)
{
	uint32_t now = (uint32_t)v->mstamp_us;
	uint64_t ack_delay_us = w->pacing_rate ? GSO_MAX_SIZE * 4ull * 1000000 / w->pacing_rate : 0;

	if ((int32_t)(now - h->last_ack_us) > HYSTART_ACK_DELTA_US)
		return false;
	h->last_ack_us = now;
	ack_delay_us = ack_delay_us < 1000 ? ack_delay_us : 1000;
	return now - h->round_start_us > (delay_min_us + (uint32_t)ack_delay_us) >> !v->is_paced;
}

static bool is_delayed(struct hystart *h, uint32_t delay_us, uint32_t delay_min_us)
{
	h->round_rtt_us = min(h->round_rtt_us, delay_us);
	if (h->samples < HYSTART_MIN_SAMPLES) {
		h->samples++;
		return false;
	}
	return h->round_rtt_us > delay_min_us + min(max(delay_min_us >> 3, HYSTART_DELAY_MIN_US), HYSTART_DELAY_MAX_US);
}

static void hystart_update(struct hystart *h, View *v, Window *w, uint32_t delay_us, uint32_t delay_min_us)
{
	bool train, delay;

	if (h->done)
		return;
	if (v->snd_una > h->end_seq)
		hystart_reset(h, v);
	if (w->cwnd < HYSTART_LOW_WINDOW)
		return;
	train = is_train(h, v, w, delay_min_us);
	delay = is_delayed(h, delay_us, delay_min_us);
	if (train || delay) {
		h->done = true;
		w->ssthresh = w->cwnd;
	}
}

/* --- the functions of the interface ------------------------------------------------------- */

static bool flag(const char *text, bool *value)
{
	*value = strcmp(text, "on") == 0;
	return *value || strcmp(text, "off") == 0;
}

static bool take(struct cubic *c, const struct dumbbell_parameter *p)
{
	char *end;

	if (strcmp(p->name, "beta") == 0) {
		unsigned long beta = strtoul(p->value, &end, 10);

		c->beta = (uint32_t)beta;
		return *end == '\0' && beta >= LEAST_BETA && beta < BETA_SCALE;
	}
	if (strcmp(p->name, "fast_convergence") == 0)
		return flag(p->value, &c->fast_convergence);
	if (strcmp(p->name, "tcp_friendliness") == 0)
		return flag(p->value, &c->tcp_friendliness);
	return strcmp(p->name, "hystart") == 0 && flag(p->value, &c->hystart.enabled);
}

static void *create(const struct dumbbell_parameter *parameters, size_t count, char *error, size_t error_size)
{
	struct cubic *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->beta = 717;
	c->fast_convergence = c->tcp_friendliness = c->hystart.enabled = true;
	for (size_t i = 0; i < count; i++) {
		if (!take(c, &parameters[i])) {
			snprintf(error, error_size, "%s is %s; beta is 205 to 1023, the flags fast_convergence, tcp_friendliness and hystart are on or off",
				 parameters[i].name, parameters[i].value);
			free(c);
			return NULL;
		}
	}
	c->friendly_scale = 8 * (BETA_SCALE + c->beta) / 3 / (BETA_SCALE - c->beta);
	c->hystart.done = !c->hystart.enabled;
	return c;
}

static void init(void *state, View *v, Window *w)
{
	struct cubic *c = state;

	(void)w;
	if (c->hystart.enabled)
		hystart_reset(&c->hystart, v);
}

static uint32_t ssthresh(void *state, View *v, const Window *w)
{
	struct cubic *c = state;
	bool gives_way = c->fast_convergence && w->cwnd < c->curve.last_max_cwnd;

	(void)v;
	c->curve.epoch_start = 0;
	c->curve.last_max_cwnd = gives_way ? w->cwnd * (BETA_SCALE + c->beta) / (2 * BETA_SCALE) : w->cwnd;
	return max(w->cwnd * c->beta / BETA_SCALE, 2);
}

static void cong_avoid(void *state, View *v, Window *w, uint32_t acked)
{
	struct cubic *c = state;

	acked = beyond_slow_start(v, w, acked);
	if (acked > 0) {
		update(c, v, w->cwnd, acked);
		additive_increase(w, c->curve.cnt, acked);
	}
}

static void event(void *state, View *v, Window *w, uint32_t event, uint32_t detail)
{
	struct cubic *c = state;

	(void)w;
	if (event == DUMBBELL_EVENT_STATE && detail == DUMBBELL_CA_STATE_LOSS) {
		memset(&c->curve, 0, sizeof(c->curve));
		c->hystart.done = !c->hystart.enabled;
		hystart_reset(&c->hystart, v);
	} else if (event == DUMBBELL_EVENT_TX_START && c->curve.epoch_start != 0) {
		int32_t idle = (int32_t)(v->jiffies - v->last_sent_jiffies);

		if (idle > 0)
			c->curve.epoch_start = min(c->curve.epoch_start + (uint32_t)idle, v->jiffies);
	}
}

static void pkts_acked(void *state, View *v, Window *w, Sample *s)
{
	struct cubic *c = state;
	struct curve *u = &c->curve;
	uint32_t delay;

	if (s->rtt_us < 0)
		return;
	/* Just after a fast recovery delays are not to be trusted. */
	if (u->epoch_start != 0 && (int32_t)(v->jiffies - u->epoch_start) < (int32_t)v->hz)
		return;
	delay = max((uint32_t)s->rtt_us, 1);
	if (u->delay_min_us == 0 || u->delay_min_us > delay)
		u->delay_min_us = delay;
	if (in_slow_start(w))
		hystart_update(&c->hystart, v, w, delay, u->delay_min_us);
}

/* State variables, which `series: [control]` in a scenario records: the same as the built-in one's. */
static void tell(void *state, View *v, const struct dumbbell_window *w, const struct dumbbell_emitter *e)
{
	struct curve *u = &((struct cubic *)state)->curve;

	(void)w;
	e->emit(e, "w_max", u->last_max_cwnd);
	e->emit(e, "cnt", u->cnt);
	if (u->delay_min_us > 0)
		e->emit(e, "base_rtt_ms", u->delay_min_us / 1e3);
	if (u->epoch_start != 0) {
		e->emit(e, "origin", u->origin_point);
		e->emit(e, "k_s", u->k / 1024.0);
		e->emit(e, "epoch_s", (double)(int32_t)(v->jiffies - u->epoch_start) / v->hz);
		e->emit(e, "w_est", u->tcp_cwnd);
	}
}

const struct dumbbell_control *dumbbell_cc_v1(void)
{
	static const struct dumbbell_control control = {
		DUMBBELL_THIS_INTERFACE,
		.create = create,
		.destroy = free,
		.init = init,
		.ssthresh = ssthresh,
		.cong_avoid = cong_avoid,
		.event = event,
		.pkts_acked = pkts_acked,
		.tell = tell,
	};

	return &control;
}
