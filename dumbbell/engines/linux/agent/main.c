/* Reads the script in the folder that the guest was started from, or that a program on a machine was told, line by line, and carries it out.
 * Results go to the same folder; the last one written, `done`, says that all are whole. Without a script a guest only starts and stops. */
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

#define SESSION_WORDS 13 /* of a session's line, before those of its application */

static void power_off(void)
{
	if (in_real_time) {
		abort_connections();
		_exit(1);
	}
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}

void fail(const char *format, ...)
{
	FILE *file = has_folder ? fopen(ERROR_FILE, "w") : NULL;
	va_list args;

	va_start(args, format);
	vfprintf(file ? file : stderr, format, args);
	va_end(args);
	if (file)
		fclose(file);
	power_off();
	__builtin_unreachable();
}

/* Makes room for one more entry, of zeros, at the end of a list. */
void *grow(void *list, int count, size_t size)
{
	list = realloc(list, (count + 1) * size);
	if (!list)
		fail("out of memory");
	memset((char *)list + count * size, 0, size);
	return list;
}

/* A list of at least so many bytes; what is new is not set. */
void *reserve(void *list, size_t size)
{
	list = realloc(list, size);
	if (!list)
		fail("out of memory");
	return list;
}

static void mount_or_fail(const char *type, const char *where, unsigned long flags, const char *options)
{
	if (mount("none", where, type, flags, options))
		fail("mount %s: %s", where, strerror(errno));
}

/* The host's root, which nothing in the guest can write to, with the guest's own /proc, /sys, /run and /tmp: ip and tc are the host's. */
static void make_root(void)
{
	mount_or_fail("hostfs", HOST_ROOT, MS_RDONLY, "/");
	if (chroot(HOST_ROOT) || chdir("/"))
		fail("chroot %s: %s", HOST_ROOT, strerror(errno));
	mount_or_fail("proc", "/proc", 0, NULL);
	mount_or_fail("sysfs", "/sys", 0, NULL);
	mount_or_fail("tmpfs", "/run", 0, NULL);
	mount_or_fail("tmpfs", "/tmp", 0, NULL);
	mkdir(FOLDER, 0755);
	mount_or_fail("hostfs", FOLDER, 0, "/proc/self/cwd");
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

int64_t least(const char *word, int64_t least)
{
	int64_t value = number(word);

	if (value < least)
		fail("script: %s is too little, expected at least %lld", word, (long long)least);
	return value;
}

/* The words that all flows have, after the first: namespaces, addresses and ports of both ends, start, stop. */
static struct flow *read_flow(struct script *script, char **words, enum traffic traffic)
{
	struct flow *flow;

	script->flows = grow(script->flows, script->n_flows, sizeof(*flow));
	flow = &script->flows[script->n_flows++];
	flow->traffic = traffic;
	flow->from = (struct end){ .namespace = words[1], .address = inet_addr(words[3]), .port = number(words[5]), .fd = -1 };
	flow->to = (struct end){ .namespace = words[2], .address = inet_addr(words[4]), .port = number(words[6]), .fd = -1 };
	flow->start_ns = number(words[7]);
	flow->stop_ns = number(words[8]);
	flow->listen_fd = flow->timer_fd = -1;
	flow->completed_ns = flow->closed_ns = -1;
	flow->bytes = -1;
	return flow;
}

static void read_tcp(struct script *script, char **words)
{
	struct flow *flow = read_flow(script, words, BULK);

	flow->cc = words[9];
	flow->bytes = number(words[10]);
	flow->sndbuf = number(words[11]);
	flow->rcvbuf = number(words[12]);
	for (words += 13; *words; words++)
		if (!strcmp(*words, "opened-by-receiver"))
			flow->opened_by_to = 1;
		else if (!strcmp(*words, "close"))
			flow->closes = 1;
		else
			fail("script: tcp has no option %s", *words);
	if (flow->closes && flow->bytes < 0)
		fail("script: a flow without end cannot close");
}

static const struct application *const applications[] = { &exchange, &onoff, &page, &streaming };

/* CC SNDBUF RCVBUF OPENER, then what the application's own words are. False if it is no line of an application's. */
static int read_session(struct script *script, char **words, int n)
{
	struct flow *flow;
	size_t i;

	for (i = 0; i < sizeof(applications) / sizeof(*applications); i++)
		if (!strcmp(words[0], applications[i]->name))
			break;
	if (i == sizeof(applications) / sizeof(*applications) || n < SESSION_WORDS + applications[i]->words)
		return 0;
	flow = read_flow(script, words, SESSION);
	flow->application = applications[i];
	flow->cc = words[9];
	flow->sndbuf = number(words[10]);
	flow->rcvbuf = number(words[11]);
	flow->opened_by_to = !strcmp(words[12], "to");
	flow->application->read_words(script, script->n_flows - 1, words + SESSION_WORDS);
	return 1;
}

static void read_datagrams(struct script *script, char **words)
{
	struct flow *flow = read_flow(script, words, DATAGRAMS);
	struct datagrams *it = &flow->datagrams;

	it->icmp = !strcmp(words[0], "ping");
	if (it->icmp)
		flow->from.port = script->n_flows;
	it->interval_ns = least(words[9], 1);
	it->payload = number(words[10]);
	it->count = number(words[11]);
	for (words += 12; *words; words++)
		if (!strcmp(*words, "reply"))
			it->reply = 1;
		else if (!strcmp(*words, "measure"))
			it->measured = 1;
		else if (!(it->list = fopen(*words, "re")))
			fail("script: %s: %s", *words, strerror(errno));
}

static void read_socket_option(struct flow *flow, const char *name, const char *value)
{
	if (!strcmp(name, "mss"))
		flow->mss = least(value, 1);
	else if (!strcmp(name, "dscp"))
		flow->dscp = least(value, 0);
	else if (!strcmp(name, "ecn"))
		flow->ecn = least(value, 1);
	else if (!strcmp(name, "nodelay"))
		flow->nodelay = least(value, 1);
	else if (!strcmp(name, "max_pacing_rate"))
		flow->max_pacing_rate = least(value, 1);
	else if (!strcmp(name, "reads"))
		flow->to.reads_bps = least(value, 1);
	else
		fail("script: sockets have no option %s", name);
}

/* Of the sockets of the flow before. */
static void read_option(struct script *script, char **words)
{
	if (!script->n_flows)
		fail("script: option %s belongs to no flow", words[1]);
	read_socket_option(&script->flows[script->n_flows - 1], words[1], words[2]);
}

/* None of them is among the flows. */
static void read_coming(char **words)
{
	struct flow like = { .traffic = TRANSFERS };
	int i;

	like.from = (struct end){ .namespace = words[1], .address = inet_addr(words[3]), .fd = -1 };
	like.to = (struct end){ .namespace = words[2], .address = inet_addr(words[4]), .fd = -1 };
	like.cc = words[5];
	like.sndbuf = number(words[6]);
	like.rcvbuf = number(words[7]);
	for (i = 10; words[i] && words[i + 1]; i += 2)
		read_socket_option(&like, words[i], words[i + 1]);
	read_transfers(&like, words[8], words[9]);
}

static void read_port(struct script *script, char **words)
{
	struct port *port;

	script->ports = grow(script->ports, script->n_ports, sizeof(*port));
	port = &script->ports[script->n_ports++];
	script->ports_namespace = words[1];
	port->namespace = words[1];
	port->name = port->device = words[2];
	port->sampled = !strcmp(words[0], "port");
	port->leaf = number(words[3]);
}

/* The queue of a host goes by the name of its namespace, or by another one, and is on its eth0, or on another device. */
static void read_egress(struct script *script, char **words)
{
	struct port *port;

	script->ports = grow(script->ports, script->n_ports, sizeof(*port));
	port = &script->ports[script->n_ports++];
	port->namespace = words[1];
	port->device = words[3] ? words[3] : "eth0";
	port->name = words[3] && words[4] ? words[4] : words[1];
	port->sampled = 1;
	port->leaf = number(words[2]);
}

/* of the flow before: END in|out DEVICE PRIORITY */
static void read_passing(struct script *script, char **words)
{
	const struct flow *flow = script->n_flows ? &script->flows[script->n_flows - 1] : NULL;
	struct passing *passing;

	if (!flow)
		fail("script: %s belongs to no flow", words[0]);
	script->passings = grow(script->passings, script->n_passings, sizeof(*script->passings));
	passing = &script->passings[script->n_passings++];
	passing->flow = script->n_flows - 1;
	passing->end = words[1];
	passing->namespace = strcmp(words[1], "to") ? flow->from.namespace : flow->to.namespace;
	passing->is_out = !strcmp(words[2], "out");
	passing->device = words[3];
	passing->priority = least(words[4], 1);
}

static void read_states(struct script *script, char **words)
{
	for (words++; *words; words++)
		if (!strcmp(*words, "senders"))
			script->senders_states = 1;
		else if (!strcmp(*words, "queues"))
			script->queues_states = 1;
		else
			fail("script: there are no states of %s", *words);
}

static void read_hop(struct script *script, char **words)
{
	script->hops = grow(script->hops, script->n_hops, sizeof(*script->hops));
	script->hops[script->n_hops++].device = words[1];
}

static void read_capture(struct script *script, char **words)
{
	script->captures = grow(script->captures, script->n_captures, sizeof(*script->captures));
	script->captures[script->n_captures].namespace = words[1];
	script->captures[script->n_captures].name = words[2];
	script->captures[script->n_captures++].devices = words + 3;
}

static void read_command(struct script *script, char **words)
{
	script->commands = grow(script->commands, script->n_commands, sizeof(*script->commands));
	script->commands[script->n_commands].at_ns = number(words[1]);
	script->commands[script->n_commands++].words = words + 1;
}

static void read_end(struct script *script, char **words)
{
	script->at_end = grow(script->at_end, script->n_at_end, sizeof(*script->at_end));
	script->at_end[script->n_at_end++].words = words;
}

static const struct {
	const char *name;
	int least; /* words */
} directives[] = {
	{ "namespace", 2 }, { "run", 4 },     { "sysctl", 4 }, { "sysctl-if-there", 4 }, { "offload", 4 }, { "tcp", 13 },
	{ "udp", 12 },	    { "port", 4 },    { "at", 5 },     { "sample", 2 },		 { "duration", 2 }, { "traffic", 1 },
	{ "capture", 3 },   { "delay", 4 },   { "hop", 2 },    { "egress", 3 },     { "option", 3 },
	{ "ping", 12 },	    { "drain", 1 },    { "transfers", 10 }, { "end", 4 },
	{ "application", 12 }, { "program", 5 }, { "files", 1 }, { "file", 3 },    { "qdisc", 6 },
	{ "state", 2 },	    { "environment", 3 }, { "given", 5 },	 { "kept", 3 },		 { "passes", 5 },
	{ "confined", 2 },  { "programs-end", 1 },
};

static void make_traffic(struct script *script)
{
	open_series(script);
	if (in_real_time && script->sample_ns)
		open_machine();
	run_traffic(script);
	if (!in_real_time)
		count_flows(script);
	count_ports(script);
	write_transfers();
	close_series(script);
	close_machine();
}

static void carry_out(struct script *script, char **words, int n)
{
	const char *what = words[0];
	size_t i;

	if (read_session(script, words, n))
		return;
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
	else if (!strcmp(what, "qdisc"))
		set_qdisc(words, n);
	else if (!strcmp(what, "tcp"))
		read_tcp(script, words);
	else if (!strcmp(what, "application"))
		read_application(read_flow(script, words, PROGRAMS), words + 9);
	else if (!strcmp(what, "program"))
		read_program(script, words);
	else if (!strcmp(what, "environment"))
		read_environment(script, words);
	else if (!strcmp(what, "given"))
		read_given(script, words);
	else if (!strcmp(what, "kept"))
		read_kept(script, words);
	else if (!strcmp(what, "passes"))
		read_passing(script, words);
	else if (!strcmp(what, "confined"))
		confine_programs(least(words[1], 0));
	else if (!strcmp(what, "programs-end"))
		end_programs(script);
	else if (!strcmp(what, "files"))
		make_files();
	else if (!strcmp(what, "file"))
		make_file(words[1], least(words[2], 0));
	else if (!strcmp(what, "udp") || !strcmp(what, "ping"))
		read_datagrams(script, words);
	else if (!strcmp(what, "option"))
		read_option(script, words);
	else if (!strcmp(what, "transfers"))
		read_coming(words);
	else if (!strcmp(what, "hop"))
		read_hop(script, words);
	else if (!strcmp(what, "port") || !strcmp(what, "delay"))
		read_port(script, words);
	else if (!strcmp(what, "egress"))
		read_egress(script, words);
	else if (!strcmp(what, "capture"))
		read_capture(script, words);
	else if (!strcmp(what, "at"))
		read_command(script, words);
	else if (!strcmp(what, "end"))
		read_end(script, words);
	else if (!strcmp(what, "sample"))
		script->sample_ns = number(words[1]);
	else if (!strcmp(what, "state"))
		read_states(script, words);
	else if (!strcmp(what, "duration"))
		script->duration_ns = number(words[1]);
	else if (!strcmp(what, "drain"))
		drain(script);
	else
		make_traffic(script);
}

/* Words stay allocated: the script points into them. */
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

/* The guest may start its first process without standard input and output. The next files opened would take their numbers, and programs
 * that the agent runs would read and write them. */
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

void carry_out_script(struct script *script)
{
	char *line = NULL;
	size_t room = 0;
	FILE *file;
	int n;

	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	file = fopen("script", "re");
	if (!file)
		fail("script: %s", strerror(errno));
	while (getline(&line, &room, file) > 0) {
		char **words = split(strdup(line), &n);

		if (n)
			carry_out(script, words, n);
	}
	fclose(file);
	file = fopen("done", "w");
	if (!file || fclose(file))
		fail("done: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	struct script script = { 0 };

	if (getpid() != 1)
		return run_on_machine(argc, argv);
	has_folder = 1;
	if (access("/script", R_OK))
		power_off();
	occupy_standard_files();
	make_root();
	carry_out_script(&script);
	power_off();
	return 0;
}
