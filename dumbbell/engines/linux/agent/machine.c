/* How busy the machine is, in real time: rows of doubles (time in ns, then ticks since booting: busy, stolen, all) in the file `machine`.
 * Source: proc_stat(5). */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The kernel counts ticks of 10 ms: more often than this there would be next to none between two rows. */
#define LEAST_NS (100 * 1000000LL)
#define FIELDS 8

static FILE *rows;
static int accounts = -1;

void open_machine(void)
{
	accounts = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	rows = fopen("machine", "we");
	if (accounts < 0 || !rows)
		fail("%s: %s", accounts < 0 ? "/proc/stat" : "machine", strerror(errno));
}

void sample_machine(int64_t t_ns)
{
	static int64_t last_ns = -LEAST_NS;
	unsigned long long ticks[FIELDS] = { 0 }, all = 0;
	char line[256];
	ssize_t n;
	int i;

	if (!rows || t_ns - last_ns < LEAST_NS)
		return;
	last_ns = t_ns;
	n = pread(accounts, line, sizeof(line) - 1, 0);
	line[n > 0 ? n : 0] = 0;
	/* user, nice, system, idle, iowait, irq, softirq, steal */
	if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5],
		   &ticks[6], &ticks[7]) < 4)
		return;
	for (i = 0; i < FIELDS; i++)
		all += ticks[i];
	if (fwrite((double[]){ t_ns, all - ticks[3] - ticks[4] - ticks[7], ticks[7], all }, sizeof(double), 4, rows) != 4)
		fail("samples: %s", strerror(errno));
}

void close_machine(void)
{
	if (rows && fclose(rows))
		fail("samples: %s", strerror(errno));
}
