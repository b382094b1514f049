/* The queue discipline dualpi2 (Linux 6.17 and later), by rtnetlink: a tc that is older than the kernel of the guest does not know it. Words are
 * those of tc-dualpi2(8), but for max_rtt and typical_rtt, of which tc makes target, tupdate, alpha and beta. */
#include "agent.h"
#include "qdisc.h"

#include <linux/pkt_sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Attributes of include/uapi/linux/pkt_sched.h of 6.17. */
enum {
	LIMIT = 1, MEMORY_LIMIT, TARGET_US, TUPDATE_US, ALPHA, BETA, STEP_PACKETS, STEP_US, MIN_QLEN_STEP, COUPLING, DROP_OVERLOAD, DROP_EARLY,
	C_PROTECTION, ECN_MASK, SPLIT_GSO
};
#define HZ_UNITS 256 /* of alpha and beta */

static void put8(struct qdisc_request *request, int type, uint8_t value)
{
	put(request, type, &value, sizeof(value));
}

struct unit {
	const char *name;
	double factor;
};

/* tc has the factor of a size in powers of 1024. */
static const struct unit times_us[] = { { "us", 1 }, { "usec", 1 }, { "ms", 1e3 }, { "msec", 1e3 }, { "s", 1e6 }, { "sec", 1e6 }, { NULL, 0 } };
static const struct unit sizes[] = { { "", 1 }, { "b", 1 }, { "k", 1024 }, { "kb", 1024 }, { "m", 1 << 20 }, { "mb", 1 << 20 }, { NULL, 0 } };
static const struct unit packets[] = { { "", 1 }, { "p", 1 }, { "packets", 1 }, { NULL, 0 } };
static const struct unit shares[] = { { "", 1 }, { "%", 1 }, { NULL, 0 } };
static const struct unit weights[] = { { "", HZ_UNITS }, { NULL, 0 } };

/* 0 if the text is no such quantity. */
static int is_quantity(const char *text, const struct unit *unit, double *value)
{
	char *end;
	double number = text ? strtod(text, &end) : -1;

	if (!text || end == text || !(number >= 0))
		return 0;
	for (; unit->name; unit++)
		if (!strcasecmp(end, unit->name)) {
			*value = number * unit->factor;
			return 1;
		}
	return 0;
}

static double quantity(const char *word, const char *text, const struct unit *units)
{
	double value;

	if (!is_quantity(text, units, &value))
		fail("qdisc dualpi2: %s takes no %s", word, text ? text : "nothing");
	return value;
}

static const struct {
	const char *name;
	int type, bytes;
	const struct unit *units;
} numbers[] = {
	{ "limit", LIMIT, 4, packets },	  { "memlimit", MEMORY_LIMIT, 4, sizes },	{ "target", TARGET_US, 4, times_us },
	{ "tupdate", TUPDATE_US, 4, times_us }, { "alpha", ALPHA, 4, weights },		{ "beta", BETA, 4, weights },
	{ "min_qlen_step", MIN_QLEN_STEP, 4, packets }, { "coupling_factor", COUPLING, 1, packets }, { "classic_protection", C_PROTECTION, 1, shares },
};

static const struct {
	const char *name;
	int type, value;
} flags[] = {
	{ "drop_on_overload", DROP_OVERLOAD, 1 }, { "overflow", DROP_OVERLOAD, 0 }, { "drop_enqueue", DROP_EARLY, 1 }, { "drop_dequeue", DROP_EARLY, 0 },
	{ "l4s_ect", ECN_MASK, 1 },		  { "any_ect", ECN_MASK, 3 },	    { "split_gso", SPLIT_GSO, 1 },	{ "no_split_gso", SPLIT_GSO, 0 },
};
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Puts what a word says, with the next one if it has a value. Returns how many they are. */
static int put_word(struct qdisc_request *request, char **words)
{
	double value;
	size_t i;

	for (i = 0; i < COUNT(flags); i++)
		if (!strcmp(words[0], flags[i].name)) {
			put8(request, flags[i].type, flags[i].value);
			return 1;
		}
	for (i = 0; i < COUNT(numbers); i++)
		if (!strcmp(words[0], numbers[i].name)) {
			value = quantity(words[0], words[1], numbers[i].units);
			if (numbers[i].bytes == 1)
				put8(request, numbers[i].type, value);
			else
				put32(request, numbers[i].type, value);
			return 2;
		}
	if (strcmp(words[0], "step_thresh"))
		fail("qdisc dualpi2: there is no word %s", words[0]);
	/* A number alone is one of packets. */
	if (is_quantity(words[1], packets, &value))
		put32(request, STEP_PACKETS, value);
	else
		put32(request, STEP_US, quantity(words[0], words[1], times_us));
	return 2;
}

void add_dualpi2(char **words, int n)
{
	struct qdisc_request request;
	struct rtattr *options;
	int i;

	begin_qdisc(&request, words, NLM_F_CREATE | NLM_F_EXCL);
	options = put(&request, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	/* The kernel takes no empty options: the kind of split is the default one. */
	put8(&request, SPLIT_GSO, 1);
	for (i = 6; i < n;)
		i += put_word(&request, words + i);
	end_qdisc(&request, options, words);
}
