"""Programs that were not written for virtual time: asking can take time, RDTSC is virtual, one that spins ends, IPv6 is quiet."""

import pytest

from dumbbell.engines.kernel import guest

from .conftest import compile_agent

PROGRAM = r"""
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void ask(const char *name, int times)
{
	long long before;
	int i;

	usleep(1000);
	before = now();
	for (i = 0; i < times; i++)
		syscall(SYS_getppid);
	printf("%s %lld\n", name, now() - before);
}

int main(int argc, char **argv)
{
	unsigned processor;
	long long first, second, third;
	volatile int turns = 1;
	int status = 0;
	pid_t child;

	if (argc > 1 && !strcmp(argv[1], "spin")) {
		child = fork();
		if (!child)
			while (turns)
				;
		waitpid(child, &status, 0);
		printf("signal %d\n", WTERMSIG(status));
		return 0;
	}
	ask("few", 90);
	ask("many", 1000);
	first = now();
	second = __rdtsc();
	third = __rdtscp(&processor);
	printf("counter %d %d %u\n", second > first && second < first + 10000, third > second && third < second + 10000, processor);
	printf("at %lld\n", second);
	return 0;
}
"""
HANG_S = 120.0


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program, compiled."""
    return compile_agent(tmp_path_factory.mktemp("program") / "program", PROGRAM)


def said(real, folder, program, *lines, arguments=""):
    """Return what the program prints in a guest after these lines of the agent's script."""
    folder.mkdir(exist_ok=True)
    (folder / "program").write_bytes(program.read_bytes())
    (folder / "program").chmod(0o755)
    script = ["namespace a", *lines, f"run a said ./program {arguments}"]
    (folder / "script").write_text("".join(f"{line}\n" for line in script))
    guest.boot(real, folder, timeout_s=HANG_S)
    return dict(line.split(" ", 1) for line in (folder / "said").read_text().splitlines())


def test_asking_takes_no_time_unless_it_is_to(real, program, tmp_path):
    as_ever = said(real, tmp_path / "0", program)
    assert (as_ever["few"], as_ever["many"]) == ("1", "1")  # reading the clock takes 1 ns
    slow = said(real, tmp_path / "1", program, "sysctl init um.spin_ns 1000")
    assert slow["few"] == "1"
    # From the 101st call without a sleep on each takes 1 us; reading the clock, too, is one.
    assert 900_000 <= int(slow["many"]) <= 910_000
    free = said(real, tmp_path / "2", program, "sysctl init um.spin_ns 1000", "sysctl init um.spin_free 5000")
    assert free["many"] == "1"


def test_the_time_stamp_counter_is_virtual(real, program, tmp_path):
    found = [said(real, tmp_path / f"{i}", program) for i in range(2)]
    assert found[0]["counter"] == "1 1 0"
    assert found[0] == found[1]


def test_a_program_that_spins_in_user_space_is_ended(real, program, tmp_path):
    assert said(real, tmp_path / "spin", program, "sysctl init um.user_spin_s 2", arguments="spin")["signal"] == "24"  # SIGXCPU


def test_ipv6_is_there_and_off(real, folder):
    lines = ["namespace a", "run a - ip link add one type veth peer name other", "run a off cat /proc/sys/net/ipv6/conf/one/disable_ipv6"]
    lines += ["run a - ip link set one up", "run a - ip link set other up", "run a addresses ip -6 address show"]
    (folder / "script").write_text("".join(f"{line}\n" for line in lines))
    guest.boot(real, folder, timeout_s=HANG_S)
    assert (folder / "off").read_text() == "1\n"
    assert (folder / "addresses").read_text() == ""
