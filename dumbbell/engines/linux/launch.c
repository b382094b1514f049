/* Starts a guest's kernel so that it dies with its parent, at the same addresses each time. Arguments: the parent's process id, the
 * program, its arguments. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3 || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != atoi(argv[1]))
		return 127;
	/* The memory that a guest finds depends on where the kernel's own ends. Some containers forbid this; they get other addresses. */
	personality(ADDR_NO_RANDOMIZE);
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
