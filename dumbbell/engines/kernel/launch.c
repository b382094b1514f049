/* Starts a program that dies with its parent. Arguments: the parent's process id, the program, its arguments. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3 || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != atoi(argv[1]))
		return 127;
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
