/* Runs a program in the namespaces of a process. Arguments: the process's id, a real-time priority (SCHED_FIFO) or 0, the program, its
 * arguments. The exit status is the program's, or 128 and the signal that ended it. */
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed(const char *what)
{
	perror(what);
	return 127;
}

int main(int argc, char **argv)
{
	static const int told[] = {SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
	struct sched_param priority = {0};
	char folder[PATH_MAX];
	sigset_t set, none;
	siginfo_t signal;
	int process, status;
	pid_t child;

	if (argc < 4)
		return 127;
	priority.sched_priority = atoi(argv[2]);
	process = (int)syscall(SYS_pidfd_open, atoi(argv[1]), 0);
	/* A new mount namespace begins at its root. */
	if (!getcwd(folder, sizeof(folder)) || process < 0 || setns(process, CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID) || chdir(folder))
		return failed("the laboratory's namespaces");
	close(process);
	sigemptyset(&none);
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
		sigaddset(&set, told[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	child = fork();
	if (child < 0)
		return failed("fork");
	if (!child) {
		sigprocmask(SIG_SETMASK, &none, NULL);
		if (priority.sched_priority && sched_setscheduler(0, SCHED_FIFO, &priority))
			return failed("SCHED_FIFO");
		execvp(argv[3], argv + 3);
		return failed(argv[3]);
	}
	/* The terminal tells the program itself of Ctrl-C; what somebody else sends here is passed on. */
	while (waitpid(child, &status, WNOHANG) == 0)
		if (sigwaitinfo(&set, &signal) != SIGCHLD && signal.si_code <= 0)
			kill(child, signal.si_signo);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
