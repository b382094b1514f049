/*
 * Runs packetdrill with one script in a guest, in namespaces of its own, and notes how that ended. The file `words` in the working folder has a
 * line for each word: the folder of the script on the host, the most seconds of virtual time, then packetdrill's arguments.
 *
 * Called as `sysctl` it sets what its arguments say, because scripts call that program, which many hosts lack.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "/tmp/folder"
#define HOST "/tmp/host" /* the host's root again: the guest's own /tmp and /run hide the host's */
#define TOOLS "/run/drill"
#define MOST_WORDS 64
#define STATUS_OF_SETUP 125 /* no script ran */

static pid_t child;
static int is_late;

static void fail(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	exit(STATUS_OF_SETUP);
}

static int write_setting(const char *key, const char *value)
{
	char path[256] = "/proc/sys/", *c;
	size_t length = strlen(value);
	int fd, is_set;

	if (strlen(path) + strlen(key) >= sizeof(path))
		return 0;
	for (c = strcat(path, key) + strlen("/proc/sys/"); *c; c++)
		if (*c == '.')
			*c = '/';
	fd = open(path, O_WRONLY);
	is_set = fd >= 0 && write(fd, value, length) == (ssize_t)length;
	if (fd >= 0)
		close(fd);
	return is_set;
}

static int sysctl(char **arguments)
{
	int ignores = 0, status = 0;
	char *value;

	for (; *arguments; arguments++) {
		if (!strcmp(*arguments, "-e")) {
			ignores = 1;
		} else if (**arguments != '-' && (value = strchr(*arguments, '='))) {
			*value++ = 0;
			if (!write_setting(*arguments, value) && !ignores) {
				fprintf(stderr, "sysctl: %s: %s\n", *arguments, strerror(errno));
				status = 1;
			}
		}
	}
	return status;
}

static char **read_words(void)
{
	static char *words[MOST_WORDS + 1];
	FILE *file = fopen("words", "r");
	size_t room;
	int n;

	if (!file)
		fail("words: %s", strerror(errno));
	for (n = 0; n < MOST_WORDS; n++) {
		room = 0;
		if (getline(&words[n], &room, file) <= 0)
			break;
		words[n][strcspn(words[n], "\n")] = 0;
	}
	fclose(file);
	words[n] = NULL;
	if (n < 3)
		fail("words: there are %d", n);
	return words;
}

static void mount_or_fail(const char *what, const char *where, unsigned long flags, const char *options)
{
	if (mount("none", where, what, flags, options))
		fail("mount %s: %s", where, strerror(errno));
}

static void prepare(const char *folder)
{
	static const char *const settings[] = { "um.spin_ns", "1000", "net.ipv6.conf.all.disable_ipv6", "0", "net.ipv6.conf.default.disable_ipv6", "0" };
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	size_t i;

	if (unshare(CLONE_NEWNS | CLONE_NEWNET) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		fail("namespaces: %s", strerror(errno));
	mount_or_fail("devtmpfs", "/dev", 0, NULL);
	if (access("/dev/net/tun", R_OK | W_OK))
		fail("the kernel has no TUN");
	if (mkdir(HOST, 0755))
		fail("%s: %s", HOST, strerror(errno));
	mount_or_fail("hostfs", HOST, MS_RDONLY, "/");
	mkdir(TOOLS, 0755);
	if (symlink(FOLDER "/drill", TOOLS "/sysctl") || symlink(FOLDER "/python3", TOOLS "/python3"))
		fail(TOOLS ": %s", strerror(errno));
	for (i = 0; i < sizeof(settings) / sizeof(*settings); i += 2)
		write_setting(settings[i], settings[i + 1]); /* an older kernel has none */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	prctl(PR_SET_TIMERSLACK, 1);
	setenv("PATH", TOOLS ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
	setenv("LC_ALL", "C", 1);
	setenv("HOME", "/tmp", 1);
	if (chdir(HOST) || chdir(folder + 1))
		fail("%s: %s", folder, strerror(errno));
}

static void end_it(int signal)
{
	(void)signal;
	is_late = 1;
	kill(-child, SIGKILL);
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void start(char **words)
{
	int output = open(FOLDER "/output", O_CREAT | O_WRONLY | O_APPEND, 0644);

	setpgid(0, 0);
	if (output < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
		_exit(STATUS_OF_SETUP);
	execv(FOLDER "/packetdrill", words);
	_exit(STATUS_OF_SETUP);
}

int main(int argc, char **argv)
{
	struct sigaction late = { .sa_handler = end_it };
	const char *name = strrchr(argv[0], '/');
	long long began_ns;
	char **words;
	int status;
	FILE *file;

	if (argc > 0 && !strcmp(name ? name + 1 : argv[0], "sysctl"))
		return sysctl(argv + 1);
	words = read_words();
	prepare(words[0]);
	sigaction(SIGALRM, &late, NULL);
	began_ns = now_ns();
	child = fork();
	if (child < 0)
		fail("fork: %s", strerror(errno));
	if (!child)
		start(words + 2);
	setpgid(child, child);
	alarm(atoi(words[1]));
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			fail("waitpid: %s", strerror(errno));
	file = fopen(FOLDER "/result", "w");
	if (!file)
		fail("result: %s", strerror(errno));
	fprintf(file, "%d %lld %s\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), now_ns() - began_ns, is_late ? "late" : "ended");
	return fclose(file) ? STATUS_OF_SETUP : 0;
}
