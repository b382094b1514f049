/* Where the program of a scenario runs in a guest, and what it may: nobody knows what it does.
 *
 * It has a mount and a PID namespace of its own (namespaces(7)), sees the host's files as any user does and can change none, and writes to a
 * tmpfs of limited size, in which its home is. It is the user nobody without capabilities (capabilities(7)), and exec() gives it none
 * (PR_SET_NO_NEW_PRIVS). So it cannot mount hostfs, which shows the host's files with the rights of whoever started the guest. The first
 * process of its PID namespace is a root's, which starts it, ends with it, and takes what it has written out of the tmpfs. */
#include "agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534 /* uid and gid */
#define BOX "/run" /* the tmpfs */
#define OUT BOX "/out"
#define ERRORS BOX "/errors"
#define MOST_FILES "16384" /* that it can make */
#define MOST_PROCESSES 256 /* with threads; of all programs of a guest together, because all are nobody's */
#define MOST_LOCKED (64 << 10)
#define LAST_CAPABILITY 63
#define EXPENDABLE "1000" /* to the kernel, when it is short of memory (proc(5), oom_score_adj) */

static int is_on;
static int64_t room;

/* BYTES: from here on programs run so, and each has room for so many bytes of files beside those that it is given. */
void confine_programs(int64_t bytes)
{
	is_on = 1;
	room = bytes;
}

int are_confined(void)
{
	return is_on;
}

static void give_up(const char *what)
{
	dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
	_exit(126);
}

static void must(int status, const char *what)
{
	if (status < 0)
		give_up(what);
}

static void make(const char *path, mode_t mode, int owner)
{
	must(mkdir(path, mode), path);
	must(chmod(path, mode), path);
	must(chown(path, owner, owner), path);
}

static void place(const char *from, const char *at)
{
	must(mount(from, at, NULL, MS_BIND, NULL), at);
}

static void copy(int from, int to, const char *name)
{
	static char buffer[1 << 16];
	ssize_t n;

	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		must(write(to, buffer, n) == n ? 0 : -1, name);
	must(n, name);
}

static int64_t size_of(int folder, const char *name)
{
	struct stat about;

	must(fstatat(folder, name, &about, 0), name);
	return about.st_size;
}

/* Folders on the way to a file are made. */
static void put(int folder, const struct given *given)
{
	char path[512], *slash;
	int from, to;

	snprintf(path, sizeof(path), "%s/%s", HOME, given->name);
	for (slash = strchr(path + sizeof(HOME), '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(path, 0755) && errno != EEXIST)
			give_up(path);
		must(chown(path, NOBODY, NOBODY), path);
		*slash = '/';
	}
	from = openat(folder, given->file, O_RDONLY | O_CLOEXEC);
	to = open(path, O_CREAT | O_WRONLY | O_EXCL | O_CLOEXEC, given->mode);
	if (from < 0 || to < 0)
		give_up(given->name);
	copy(from, to, given->name);
	must(fchmod(to, given->mode), path);
	must(fchown(to, NOBODY, NOBODY), path);
	close(from);
	close(to);
}

static void make_devices(void)
{
	static const struct {
		const char *path;
		int major, minor;
	} devices[] = { { "/dev/null", 1, 3 }, { "/dev/zero", 1, 5 }, { "/dev/full", 1, 7 }, { "/dev/random", 1, 8 }, { "/dev/urandom", 1, 9 } };
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" }, { "/proc/self/fd/0", "/dev/stdin" }, { "/proc/self/fd/1", "/dev/stdout" }, { "/proc/self/fd/2", "/dev/stderr" },
	};
	size_t i;

	must(mount("none", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "size=4k,nr_inodes=64,mode=755"), "/dev");
	for (i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
		must(mknod(devices[i].path, S_IFCHR, makedev(devices[i].major, devices[i].minor)), devices[i].path);
		must(chmod(devices[i].path, 0666), devices[i].path);
	}
	for (i = 0; i < sizeof(links) / sizeof(*links); i++)
		must(symlink(links[i][0], links[i][1]), links[i][1]);
	make("/dev/shm", 01777, 0);
	place(BOX "/shm", "/dev/shm");
}

/* Names of the run's hosts, and no name server: nobody would answer. */
static void make_names(int folder)
{
	int from = openat(folder, "hosts", O_RDONLY | O_CLOEXEC), to;

	if (from >= 0) {
		to = open(BOX "/hosts", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
		must(to, BOX "/hosts");
		copy(from, to, "hosts");
		close(from);
		close(to);
		if (mount(BOX "/hosts", "/etc/hosts", NULL, MS_BIND, NULL) && errno != ENOENT)
			give_up("/etc/hosts");
	}
	to = open(BOX "/resolv.conf", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	must(to, BOX "/resolv.conf");
	close(to);
	if (mount(BOX "/resolv.conf", "/etc/resolv.conf", NULL, MS_BIND, NULL) && errno != ENOENT)
		give_up("/etc/resolv.conf");
}

/* In the first process of the program's namespaces, whose working folder is that of the run. Returns the folder. */
int enter_box(const struct program *program)
{
	static const char *const writable[][2] = { { BOX "/tmp", "/tmp" }, { BOX "/var-tmp", "/var/tmp" } };
	int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), i, fd;
	char options[128];
	int64_t size = room;

	must(folder, "the folder of the run");
	for (i = 0; i < program->n_given; i++)
		size += size_of(folder, program->given[i].file);
	must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "/");
	snprintf(options, sizeof(options), "size=%lld,nr_inodes=" MOST_FILES ",mode=755", (long long)size);
	must(mount("none", BOX, "tmpfs", MS_NOSUID | MS_NODEV, options), BOX);
	make(HOME, 0755, NOBODY);
	make(BOX "/shm", 01777, 0);
	for (i = 0; i < (int)(sizeof(writable) / sizeof(*writable)); i++) {
		make(writable[i][0], 01777, 0);
		place(writable[i][0], writable[i][1]);
	}
	make_devices();
	make_names(folder);
	must(mount("none", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL), "/proc");
	for (i = 0; i < program->n_given; i++)
		put(folder, &program->given[i]);
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, EXPENDABLE, sizeof(EXPENDABLE) - 1) < 0)
		give_up("/proc/self/oom_score_adj");
	close(fd);
	must(chdir(HOME), HOME);
	return folder;
}

static int of_nobody(const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR | O_TRUNC | O_APPEND, 0600);

	must(fd, path);
	must(fchown(fd, NOBODY, NOBODY), path);
	return fd;
}

/* Its standard files. */
void open_box_files(void)
{
	int in = open("/dev/null", O_RDONLY), out = of_nobody(OUT), errors = of_nobody(ERRORS);

	if (in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(errors, 2) < 0)
		give_up("standard files");
}

/* A guest with little memory allows less by itself. */
static void limit(int what, rlim_t most)
{
	struct rlimit found;

	must(getrlimit(what, &found), "getrlimit");
	if (found.rlim_max > most)
		found.rlim_max = most;
	found.rlim_cur = found.rlim_max;
	must(setrlimit(what, &found), "setrlimit");
}

/* In the process that becomes the program, at last. */
void drop_rights(void)
{
	int i;

	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_MEMLOCK, MOST_LOCKED);
	for (i = 0; i <= LAST_CAPABILITY; i++)
		if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) && errno != EINVAL)
			give_up("capabilities");
	must(setgroups(0, NULL), "setgroups");
	must(setresgid(NOBODY, NOBODY, NOBODY), "setresgid");
	must(setresuid(NOBODY, NOBODY, NOBODY), "setresuid");
	limit(RLIMIT_NPROC, MOST_PROCESSES);
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
}

/* What the program has left at `path`, as NAME in the run's folder, if it is a file and has content. It may have put something else there. */
static void take_out(int folder, const char *path, const char *name, int append)
{
	int from = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), to;
	struct stat about;

	if (from < 0)
		return;
	must(fstat(from, &about), path);
	if (S_ISREG(about.st_mode) && about.st_size) {
		to = openat(folder, name, O_CREAT | O_WRONLY | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0644);
		must(to, name);
		copy(from, to, name);
		must(close(to), name);
	}
	close(from);
}

static int is_kept(const struct program *program, const char *name)
{
	int i;

	for (i = 0; i < program->n_kept; i++)
		if (!fnmatch(program->kept[i], name, FNM_PERIOD))
			return 1;
	return 0;
}

/* When it has ended: its output, and the files in its home that the run keeps. */
void empty_box(int folder, const struct program *program)
{
	char path[512], name[512];
	const struct dirent *entry;
	DIR *home = opendir(HOME);

	snprintf(name, sizeof(name), "%s.errors", program->out);
	take_out(folder, OUT, program->out, 0);
	take_out(folder, ERRORS, name, 0);
	take_out(folder, ERRORS, "log", 1);
	while (home && (entry = readdir(home)))
		if (is_kept(program, entry->d_name)) {
			snprintf(path, sizeof(path), HOME "/%s", entry->d_name);
			snprintf(name, sizeof(name), "%s.kept.%s", program->out, entry->d_name);
			take_out(folder, path, name, 0);
		}
}
