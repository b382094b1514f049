/* The agent as a program on a machine, in real time. A controller talks to it over its standard input and output, a word a line:
 *
 *     armed             ->   all sockets are bound and listen
 *                       <-   epoch NS: time 0 on this machine's CLOCK_REALTIME
 *     ended             ->   the run's duration is over, and nothing more is sent
 *     empty             ->   and nothing is left in the queues of this machine
 *                       <-   look: whether they are empty again, as other machines' queues were not when these were
 *     empty             ->
 *                       <-   finish: count, write, end
 *     done              ->   all is written
 *                       <-   . now and then
 *
 * Its standard input is a lease: if that ends, or nothing comes for a while, the controller is gone, and so is the agent. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define PRIORITY 5 /* of SCHED_FIFO: timers on time beside other work */
#define LEASE_S 30 /* a controller is heard at least so often */
#define PERIOD_NS 1000000 /* of the timer whose lateness is measured */

int in_real_time, is_finished;
int has_folder; /* where results go, and errors; else to the standard error */
static time_t heard_s;

static struct timespec now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time;
}

void tell(const char *word)
{
	printf("%s\n", word);
	fflush(stdout);
}

/* The next line of the controller's, without its end; the same place each time. Not through stdio: what that has read ahead no epoll sees. */
static const char *read_line(void)
{
	static char line[64];
	size_t n = 0;
	ssize_t got;

	while ((got = read(STDIN_FILENO, line + n, 1)) == 1 && line[n] != '\n')
		if (++n == sizeof(line))
			fail("the controller says too much");
	if (got < 0)
		fail("controller: %s", strerror(errno));
	if (!got)
		fail("the controller is gone");
	line[n] = 0;
	heard_s = now(CLOCK_MONOTONIC).tv_sec;
	return line;
}

/* Says that this machine is ready, and waits to be told when time 0 is: ns of CLOCK_REALTIME here. */
int64_t agree_on_epoch(void)
{
	const char *line;
	char *end;
	int64_t ns;

	tell("armed");
	do
		line = read_line();
	while (!strcmp(line, "."));
	ns = strncmp(line, "epoch ", 6) ? 0 : strtoll(line + 6, &end, 10);
	if (!ns || *end)
		fail("the controller says %s instead of an epoch", line);
	return ns;
}

void watch_lease(void)
{
	struct itimerspec spec = { .it_value.tv_sec = 1, .it_interval.tv_sec = 1 };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, 0, &spec, NULL))
		fail("timer: %s", strerror(errno));
	watch(fd, EPOLLIN, LEASE_CHECK, fd);
	watch(STDIN_FILENO, EPOLLIN, LEASE, 0);
}

void check_lease(void)
{
	if (now(CLOCK_MONOTONIC).tv_sec - heard_s > LEASE_S)
		fail("nothing was heard of the controller for %d s", LEASE_S);
}

void hear(void)
{
	const char *line = read_line();

	if (!strcmp(line, "finish"))
		is_finished = 1;
	else if (!strcmp(line, "look"))
		look_again();
	else if (strcmp(line, "."))
		fail("the controller says %s", line);
}

/* Namespaces that nobody else sees: they, their devices and all settings in them are gone when this process is, however it ends. */
static void leave_machine(void)
{
	static const char *const own[] = { "/run", "/run/netns" };
	size_t i;

	if (unshare(CLONE_NEWNS | CLONE_NEWNET) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("none", own[0], "tmpfs", 0, NULL))
		fail("namespaces of one's own: %s; expected root, or the program unshare -Urnm before this one", strerror(errno));
	for (i = 1; i < sizeof(own) / sizeof(*own); i++)
		if (mkdir(own[i], 0755))
			fail("%s: %s", own[i], strerror(errno));
}

static int compare(const void *one, const void *other)
{
	const int64_t *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

/* Of a timer of 1 ms over so many ms, us: how late half of the times, 99 of 100 and the worst were. */
static int measure_lateness(int ms)
{
	struct itimerspec spec = { .it_value.tv_nsec = PERIOD_NS, .it_interval.tv_nsec = PERIOD_NS };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), i;
	int64_t *late = calloc(ms, sizeof(*late)), begun, due = 0;
	struct timespec time = now(CLOCK_MONOTONIC);
	uint64_t times;

	begun = time.tv_sec * 1000000000LL + time.tv_nsec + PERIOD_NS;
	spec.it_value = (struct timespec){ .tv_sec = begun / 1000000000, .tv_nsec = begun % 1000000000 };
	if (fd < 0 || !late || timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL))
		fail("timer: %s", strerror(errno));
	for (i = 0; i < ms; i++) {
		if (read(fd, &times, sizeof(times)) != sizeof(times))
			fail("timer: %s", strerror(errno));
		time = now(CLOCK_MONOTONIC);
		late[i] = time.tv_sec * 1000000000LL + time.tv_nsec - begun - due * PERIOD_NS;
		due += times;
	}
	qsort(late, ms, sizeof(*late), compare);
	printf("%lld %lld %lld\n", (long long)late[ms / 2] / 1000, (long long)late[ms * 99 / 100] / 1000, (long long)late[ms - 1] / 1000);
	return 0;
}

/* Answers each line with the time. */
static void show_clock(void)
{
	struct timespec time;
	char c;

	while (read(STDIN_FILENO, &c, 1) == 1) {
		if (c != '\n')
			continue;
		time = now(CLOCK_REALTIME);
		printf("%lld\n", (long long)time.tv_sec * 1000000000 + time.tv_nsec);
		fflush(stdout);
	}
}

/* True if timers are on time beside other work. */
static int be_prompt(void)
{
	struct sched_param param = { .sched_priority = PRIORITY };

	prctl(PR_SET_TIMERSLACK, 1);
	return !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

/* run FOLDER: the script there, on this machine. local FOLDER: the same in namespaces of its own. clock; lateness MS. */
int run_on_machine(int argc, char **argv)
{
	struct script script = { .ports_namespace = "init" };
	const char *mode = argc > 1 ? argv[1] : "";
	int prompt;

	in_real_time = 1;
	signal(SIGPIPE, SIG_IGN);
	prompt = be_prompt();
	if (argc == 2 && !strcmp(mode, "clock")) {
		show_clock();
		return 0;
	}
	if (argc == 3 && !strcmp(mode, "lateness") && atoi(argv[2]) > 0)
		return measure_lateness(atoi(argv[2]));
	if (argc != 3 || (strcmp(mode, "run") && strcmp(mode, "local"))) {
		fprintf(stderr, "expected: agent run FOLDER | local FOLDER | clock | lateness MS\n");
		return 2;
	}
	if (chdir(argv[2])) {
		fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
		return 2;
	}
	has_folder = 1;
	heard_s = now(CLOCK_MONOTONIC).tv_sec;
	if (!strcmp(mode, "local"))
		leave_machine();
	remember_initial_namespace();
	tell(prompt ? "prompt" : "not prompt");
	carry_out_script(&script);
	abort_connections();
	tell("done");
	return 0;
}
