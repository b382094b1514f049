/* Reads the script in the folder that the guest was started from, line by line, and carries it out. Results go to the same folder; the
 * last one written, `done`, says that all are whole. Without a script the guest only starts and stops. */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the guest: the host's root, and below it the folder that the guest was started from. */
#define HOST_ROOT "/host"
#define FOLDER "/tmp/folder"

static void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}

void fail(const char *format, ...)
{
	FILE *file = fopen(ERROR_FILE, "w");
	va_list args;

	va_start(args, format);
	vfprintf(file ? file : stderr, format, args);
	va_end(args);
	if (file)
		fclose(file);
	power_off();
	__builtin_unreachable();
}

void *grow(void *list, int count, size_t size)
{
	list = realloc(list, (count + 1) * size);
	if (!list)
		fail("out of memory");
	memset((char *)list + count * size, 0, size);
	return list;
}

static void mount_or_fail(const char *type, const char *where, const char *options)
{
	if (mount("none", where, type, 0, options))
		fail("mount %s: %s", where, strerror(errno));
}

/* The host's root with the guest's own /proc, /sys, /run and /tmp: ip and tc are the host's. */
static void make_root(void)
{
	mount_or_fail("hostfs", HOST_ROOT, "/");
	if (chroot(HOST_ROOT) || chdir("/"))
		fail("chroot %s: %s", HOST_ROOT, strerror(errno));
	mount_or_fail("proc", "/proc", NULL);
	mount_or_fail("sysfs", "/sys", NULL);
	mount_or_fail("tmpfs", "/run", NULL);
	mount_or_fail("tmpfs", "/tmp", NULL);
	mkdir(FOLDER, 0755);
	mount_or_fail("hostfs", FOLDER, "/proc/self/cwd");
	if (chdir(FOLDER))
		fail("chdir %s: %s", FOLDER, strerror(errno));
	mkdir("/run/netns", 0755);
}

static int64_t number(const char *word)
{
	char *end;
	int64_t value = strtoll(word, &end, 10);

	if (*end)
		fail("script: %s is not a number", word);
	return value;
}

static void read_flow(struct plan *plan, char **words, int datagrams)
{
	struct flow *flow;

	plan->flows = grow(plan->flows, plan->n_flows, sizeof(*flow));
	flow = &plan->flows[plan->n_flows++];
	flow->sender_ns = words[1];
	flow->receiver_ns = words[2];
	flow->saddr = inet_addr(words[3]);
	flow->daddr = inet_addr(words[4]);
	flow->sport = number(words[5]);
	flow->dport = number(words[6]);
	flow->start_ns = number(words[7]);
	flow->stop_ns = number(words[8]);
	flow->send_fd = flow->listen_fd = flow->receive_fd = flow->timer_fd = -1;
	flow->completed_ns = -1;
	flow->bytes = -1;
	if (datagrams) {
		flow->interval_ns = number(words[9]);
		flow->payload = number(words[10]);
		return;
	}
	flow->cc = words[9];
	flow->bytes = number(words[10]);
	flow->sndbuf = number(words[11]);
	flow->rcvbuf = number(words[12]);
}

static void read_port(struct plan *plan, char **words)
{
	struct port *port;

	plan->ports = grow(plan->ports, plan->n_ports, sizeof(*port));
	port = &plan->ports[plan->n_ports++];
	plan->ports_ns = words[1];
	port->device = words[2];
	port->sampled = !strcmp(words[0], "port");
	port->leaf = number(words[3]);
}

static void read_hop(struct plan *plan, char **words)
{
	plan->hops = grow(plan->hops, plan->n_hops, sizeof(*plan->hops));
	plan->hops[plan->n_hops++].device = words[1];
}

static void read_capture(struct plan *plan, char **words)
{
	plan->captures = grow(plan->captures, plan->n_captures, sizeof(*plan->captures));
	plan->captures[plan->n_captures].namespace = words[1];
	plan->captures[plan->n_captures++].name = words[2];
}

static void read_deed(struct plan *plan, char **words)
{
	plan->deeds = grow(plan->deeds, plan->n_deeds, sizeof(*plan->deeds));
	plan->deeds[plan->n_deeds].at_ns = number(words[1]);
	plan->deeds[plan->n_deeds++].words = words + 1;
}

static const struct {
	const char *name;
	int least; /* words */
} directives[] = {
	{ "namespace", 2 }, { "run", 4 }, { "sysctl", 4 },    { "sysctl-if-there", 4 }, { "offload", 4 }, { "tcp", 13 },
	{ "udp", 11 },	    { "port", 4 }, { "at", 5 },	       { "sample", 2 },		 { "duration", 2 }, { "traffic", 1 },
	{ "capture", 3 }, { "delay", 4 }, { "hop", 2 },
};

static void carry_out(struct plan *plan, char **words, int n)
{
	const char *what = words[0];
	size_t i;

	for (i = 0; i < sizeof(directives) / sizeof(*directives); i++)
		if (!strcmp(what, directives[i].name))
			break;
	if (i == sizeof(directives) / sizeof(*directives) || n < directives[i].least)
		fail("script: cannot read the line that begins with %s", what);
	if (!strcmp(what, "namespace"))
		make_namespace(words[1]);
	else if (!strcmp(what, "run"))
		run_program(words);
	else if (!strcmp(what, "sysctl") || !strcmp(what, "sysctl-if-there"))
		write_sysctl(words[1], words[2], words + 3, n - 3, !strcmp(what, "sysctl"));
	else if (!strcmp(what, "offload"))
		set_offload(words[1], words[2], words[3]);
	else if (!strcmp(what, "tcp") || !strcmp(what, "udp"))
		read_flow(plan, words, !strcmp(what, "udp"));
	else if (!strcmp(what, "hop"))
		read_hop(plan, words);
	else if (!strcmp(what, "port") || !strcmp(what, "delay"))
		read_port(plan, words);
	else if (!strcmp(what, "capture"))
		read_capture(plan, words);
	else if (!strcmp(what, "at"))
		read_deed(plan, words);
	else if (!strcmp(what, "sample"))
		plan->sample_ns = number(words[1]);
	else if (!strcmp(what, "duration"))
		plan->duration_ns = number(words[1]);
	else {
		open_series(plan);
		make_sockets(plan);
		run_traffic(plan);
		write_counters(plan);
		close_series(plan);
	}
}

/* Words stay allocated: the plan points into them. */
static char **split(char *line, int *n)
{
	char **words = NULL;
	char *word;

	*n = 0;
	for (word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
		words = grow(words, *n + 1, sizeof(*words));
		words[(*n)++] = word;
		words[*n] = NULL;
	}
	return words;
}

/* The first process may start without standard input and output: a file that took their place would be the programs' input. */
static void occupy_standard_files(void)
{
	int fd;

	do {
		fd = open("/", O_RDONLY | O_DIRECTORY);
		if (fd < 0)
			fail("/: %s", strerror(errno));
	} while (fd <= STDERR_FILENO);
	close(fd);
}

int main(void)
{
	struct plan plan = { 0 };
	char *line = NULL;
	size_t room = 0;
	FILE *file;
	int n;

	if (access("/script", R_OK))
		power_off();
	occupy_standard_files();
	make_root();
	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	file = fopen("script", "re");
	if (!file)
		fail("script: %s", strerror(errno));
	while (getline(&line, &room, file) > 0) {
		char **words = split(strdup(line), &n);

		if (n)
			carry_out(&plan, words, n);
	}
	file = fopen("done", "w");
	if (!file || fclose(file))
		fail("done: %s", strerror(errno));
	power_off();
	return 0;
}
