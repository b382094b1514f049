/* Network namespaces, programs run in them, settings of the kernel and of devices. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define INITIAL "init" /* the namespace that the guest starts in; some settings are only there */

struct namespace {
	const char *name;
	int fd;
};

static struct namespace *namespaces;
static int n_namespaces;

static void remember(const char *name, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail("namespace %s: %s", name, strerror(errno));
	namespaces = grow(namespaces, n_namespaces, sizeof(*namespaces));
	namespaces[n_namespaces].name = name;
	namespaces[n_namespaces++].fd = fd;
}

void remember_initial_namespace(void)
{
	remember(INITIAL, "/proc/self/ns/net");
}

/* A namespace that ip knows by name, too. */
void make_namespace(const char *name)
{
	char path[128];
	int fd;

	if (!n_namespaces)
		remember_initial_namespace();
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_CREAT | O_RDONLY, 0644);
	if (fd < 0 || close(fd) || unshare(CLONE_NEWNET) || mount("/proc/self/ns/net", path, "none", MS_BIND, NULL))
		fail("namespace %s: %s", name, strerror(errno));
	remember(name, path);
}

void enter_namespace(const char *name)
{
	int i;

	for (i = 0; i < n_namespaces; i++)
		if (!strcmp(namespaces[i].name, name))
			break;
	if (i == n_namespaces || setns(namespaces[i].fd, CLONE_NEWNET))
		fail("namespace %s: cannot be entered", name);
}

/* Waits for the program's end. Words: what, namespace, file for its output (- is `log`), program, arguments. */
void run_program(char **words)
{
	const char *to = strcmp(words[2], "-") ? words[2] : "log";
	int status, log, out;
	pid_t child = vfork(); /* a copy of the memory is dear in a guest */

	if (child < 0)
		fail("%s: %s", words[3], strerror(errno));
	if (!child) {
		enter_namespace(words[1]);
		log = open("log", O_CREAT | O_WRONLY | O_APPEND, 0644);
		out = open(to, O_CREAT | O_WRONLY | O_APPEND, 0644);
		if (log < 0 || out < 0 || dup2(out, 1) < 0 || dup2(log, 2) < 0)
			_exit(126);
		execvp(words[3], words + 3);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child || status)
		fail("%s %s: failed with status %d; see the log", words[3], words[4] ? words[4] : "", WEXITSTATUS(status));
}

/* Writes a setting below /proc/sys; one that is not there is an error if it must be. */
void write_sysctl(const char *namespace, const char *key, char **values, int n, int must)
{
	char path[256], text[512] = "";
	int fd, i;
	char *c;

	enter_namespace(namespace);
	snprintf(path, sizeof(path), "/proc/sys/%s", key);
	for (c = path; *c; c++)
		if (*c == '.')
			*c = '/';
	for (i = 0; i < n; i++) {
		if (strlen(text) + strlen(values[i]) + 2 > sizeof(text))
			fail("sysctl %s: the value is too long", key);
		strcat(strcat(text, i ? " " : ""), values[i]);
	}
	fd = open(path, O_WRONLY);
	if (fd < 0 && errno == ENOENT && !must)
		return;
	if (fd < 0)
		fail("sysctl %s: this kernel has no such setting", key);
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail("sysctl %s: the kernel refuses %s", key, text);
	close(fd);
}

static void set_feature(int fd, const char *device, uint32_t command, uint32_t on)
{
	struct ethtool_value value = { .cmd = command, .data = on };
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	request.ifr_data = (void *)&value;
	if (ioctl(fd, SIOCETHTOOL, &request))
		fail("offload of %s: %s", device, strerror(errno));
}

/* Modes none and tso switch segmentation offload off. For TCP to send packet by packet (none) the device also needs `gso_max_segs 1`. */
void set_offload(const char *namespace, const char *device, const char *mode)
{
	int fd;

	enter_namespace(namespace);
	if (!strcmp(mode, "on"))
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fail("offload of %s: %s", device, strerror(errno));
	set_feature(fd, device, ETHTOOL_STSO, 0);
	set_feature(fd, device, ETHTOOL_SGSO, 0);
	set_feature(fd, device, ETHTOOL_SGRO, 0);
	close(fd);
}
