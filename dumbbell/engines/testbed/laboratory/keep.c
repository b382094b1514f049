/* Keeps the laboratory's namespaces (network, mounts, processes) and its folder for as long as its standard input is open, whose other end
 * only the controller has: however that one ends, the first process of the namespaces is killed, with it everything that runs in them
 * (pid_namespaces(7)), and the folder is removed. Argument: the folder's name, which ends in XXXXXX. Prints the first process and the
 * folder, or one line with what failed and why. */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int removed(const char *path, const struct stat *facts, int kind, struct FTW *level)
{
	(void)facts, (void)kind, (void)level;
	remove(path);
	return 0;
}

static int failed(const char *what, const char *folder)
{
	printf("%s: %s\n", what, strerror(errno));
	if (folder)
		rmdir(folder);
	return 1;
}

/* The first process of the namespaces: adopts whatever loses its parent, and dies with `keep`, as does all that it is the first of. Tells
 * by a byte that it is ready: its errno. */
static void first(int tell)
{
	char found = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* What is mounted in there stays in there, and the processes that /proc shows are its own. */
	if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) || mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		found = (char)errno;
	signal(SIGCHLD, SIG_IGN);
	if (write(tell, &found, 1) != 1 || found)
		_exit(1);
	for (int descriptor = 0; descriptor <= tell; descriptor++)
		close(descriptor);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
	char byte = 0, *folder = argv[1];
	int told[2];
	pid_t process;

	if (argc != 2)
		return 127;
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	if (!mkdtemp(folder))
		return failed(folder, NULL);
	if (unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID))
		return failed("unshare", folder);
	if (pipe(told) || (process = fork()) < 0)
		return failed("fork", folder);
	if (!process)
		first(told[1]);
	close(told[1]);
	if (read(told[0], &byte, 1) != 1 || byte) {
		errno = byte ? byte : ECHILD;
		return failed("mount", folder);
	}
	printf("%d %s\n", (int)process, folder);
	fflush(stdout);
	while (read(0, &byte, 1) > 0 || errno == EINTR)
		errno = 0;
	kill(process, SIGKILL);
	waitpid(process, NULL, 0); /* returns when nothing runs in the namespaces any more */
	return nftw(folder, removed, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
