#include "driver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* A case begins at a multiple of 2^15 jiffies, which count from -300 s at 1000 a second: there the timer wheel rounds as at its beginning. */
#define ALIGNED_MS 32768LL
#define FIRST_MS (300000 % ALIGNED_MS)
/* The first case begins after that. Linux takes the time of what never happened for jiffy 0, which lies ahead in the first 300 s. */
#define BOOTED_MS 300000
#define WRITE_MOST (1 << 20)
#define READ_MOST (1 << 30)
/* States of a connection (the kernel's enum, of which netinet/tcp.h has the names, is not in linux/tcp.h). */
#define ESTABLISHED 1
#define CLOSE_WAIT 8

struct end end;
FILE *answers;
static int timer;
static char zeros[WRITE_MOST];
static int alarm_clock;
static struct device devices[] = { { .address = "10.0.0.1" }, { .address = "10.0.1.1" } };

void fail(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	exit(1);
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

/* Reads at once what the end sends meanwhile: TCP does not collapse a segment of which a copy is still somewhere. (poll()'s own timeout is not exact.) */
static void sleep_until(int64_t ns)
{
	struct itimerspec at = { .it_value = { .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND } };
	struct pollfd watched[] = { { .fd = alarm_clock, .events = POLLIN }, { .fd = end.device ? end.device->fd : -1, .events = POLLIN } };

	if (timerfd_settime(alarm_clock, TFD_TIMER_ABSTIME, &at, NULL))
		fail("alarm clock: %s", strerror(errno));
	do {
		if (poll(watched, 2, -1) > 0 && watched[1].revents)
			look();
	} while (!watched[0].revents);
}

void set(int fd, int level, int option, const void *value, socklen_t size)
{
	if (setsockopt(fd, level, option, value, size))
		fail("socket option %d: %s", option, strerror(errno));
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail("%s: %s", path, strerror(errno));
	close(fd);
}

static int has_room(void)
{
	struct pollfd watched = { .fd = end.fd, .events = POLLOUT };

	return poll(&watched, 1, 0) == 1 && watched.revents;
}

static int bytes_to_read(void)
{
	int bytes = 0;

	ioctl(end.fd, SIOCINQ, &bytes);
	return bytes;
}

static int read_info(struct tcp_info *info)
{
	socklen_t size = sizeof(*info);

	return end.fd >= 0 && !getsockopt(end.fd, IPPROTO_TCP, TCP_INFO, info, &size);
}

static void write_pending(void)
{
	ssize_t got;

	do {
		got = send(end.fd, zeros, end.pending < WRITE_MOST ? end.pending : WRITE_MOST, MSG_NOSIGNAL);
		if (got > 0)
			end.pending -= got;
	} while (got > 0 && end.pending);
}

/* The application accepts, reads, writes and closes, as far as it can. It asks whether it can in ways that leave no trace in the socket: poll()
 * notes that somebody waits for room, whatever it is asked for, so that it is called only if that is so. */
static void let_application_act(void)
{
	struct tcp_info info;

	if (end.listener >= 0 && end.fd < 0)
		end.fd = accept4(end.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (end.fd < 0)
		return;
	if (!end.reads_at_rate && !end.stops && bytes_to_read())
		recv(end.fd, NULL, READ_MOST, MSG_TRUNC);
	if (!read_info(&info))
		return;
	if (info.tcpi_state == CLOSE_WAIT && !end.reads_at_rate && !end.stops && !end.has_read_all) {
		recv(end.fd, NULL, READ_MOST, MSG_TRUNC);
		end.has_read_all = end.closes = 1;
	}
	if (end.has_closed || (info.tcpi_state != ESTABLISHED && info.tcpi_state != CLOSE_WAIT))
		return;
	/* An application writes without asking, and then waits for room as long as not all of it was taken. */
	if (end.pending && (!end.waits || has_room())) {
		write_pending();
		end.waits = end.pending > 0;
	}
	if (end.closes && !end.pending) {
		end.has_closed = 1;
		shutdown(end.fd, SHUT_WR);
	}
}

/* Lets time pass. An application that waits for room writes as soon as there is some; what the end sends is read at once meanwhile, too. A timer of its own
   ends that: the timeout of poll() is late. */
static void wait_until(int64_t ns)
{
	struct itimerspec at = { .it_value = { .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND } };
	struct pollfd watched[] = { { .fd = end.fd, .events = POLLOUT }, { .fd = timer, .events = POLLIN },
				    { .fd = end.device ? end.device->fd : -1, .events = POLLIN } };
	uint64_t pending = 0;

	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL))
		fail("timer: %s", strerror(errno));
	while (end.fd >= 0 && end.waits && end.pending != pending && poll(watched, 3, -1) > 0 && !watched[1].revents) {
		if (watched[2].revents)
			look();
		if (watched[0].revents) {
			pending = end.pending;
			let_application_act();
		}
	}
	sleep_until(ns);
}

/* The turn of an application that reads at a rate. */
static void read_in_turn(int64_t most)
{
	ssize_t got = recv(end.fd, NULL, most, MSG_TRUNC);

	if (got == 0)
		end.closes = 1;
	end.is_read_up = got <= 0;
}

static void show_info(int64_t at_ns)
{
	struct tcp_info info;

	if (!read_info(&info))
		return;
	fprintf(answers, "info %lld %u %u %u %u %u %u %u %u %u %u %u %llu %llu %llu\n", (long long)at_ns, info.tcpi_ca_state, info.tcpi_snd_cwnd,
		info.tcpi_snd_ssthresh, info.tcpi_rtt, info.tcpi_rttvar, info.tcpi_rto, info.tcpi_reordering, info.tcpi_unacked, info.tcpi_sacked,
		info.tcpi_lost, info.tcpi_retrans, (unsigned long long)info.tcpi_busy_time, (unsigned long long)info.tcpi_rwnd_limited,
		(unsigned long long)info.tcpi_sndbuf_limited);
}

static int make_socket(const char *cc, int nodelay, int rcvbuf, int sndbuf)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(END_PORT) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	inet_pton(AF_INET, end.device->address, &at.sin_addr);
	set(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	set(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc));
	if (nodelay)
		set(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (rcvbuf)
		set(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof(rcvbuf));
	if (sndbuf)
		set(fd, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf, sizeof(sndbuf));
	if (bind(fd, (void *)&at, sizeof(at)))
		fail("bind: %s", strerror(errno));
	return fd;
}

static void open_connection(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(end.port) };

	inet_pton(AF_INET, end.device->address, &to.sin_addr);
	to.sin_addr.s_addr = htonl(ntohl(to.sin_addr.s_addr) + 1);
	if (connect(end.fd, (void *)&to, sizeof(to)) && errno != EINPROGRESS)
		fail("connect: %s", strerror(errno));
}

static void begin_case(char *words)
{
	int number, ecn, device, nodelay, rcvbuf, sndbuf, reads, opens, sack, timestamps;
	char cc[16], text[2] = { 0 };
	int64_t begin_ms;

	if (sscanf(words, "%d %15s %d %d %d %d %d %d %d %d %d", &number, cc, &ecn, &device, &nodelay, &rcvbuf, &sndbuf, &reads, &opens, &sack, &timestamps) != 11 || device < 0 || device > 1)
		fail("a case cannot be read");
	begin_ms = now_ns(CLOCK_MONOTONIC) / 1000000 + 1000 - FIRST_MS;
	if (begin_ms < BOOTED_MS)
		begin_ms = BOOTED_MS;
	begin_ms = (begin_ms / ALIGNED_MS + 1) * ALIGNED_MS + FIRST_MS;
	memset(&end, 0, sizeof(end));
	end.device = &devices[device];
	end.port = 10000 + number % 50000;
	end.reads_at_rate = reads;
	end.timestamps = timestamps;
	end.listener = end.fd = -1;
	*text = '0' + ecn;
	write_file("/proc/sys/net/ipv4/tcp_ecn", text);
	*text = '0' + sack;
	write_file("/proc/sys/net/ipv4/tcp_sack", text);
	*text = timestamps ? '2' : '0'; /* 2: without a random offset */
	write_file("/proc/sys/net/ipv4/tcp_timestamps", text);
	*(opens ? &end.fd : &end.listener) = make_socket(cc, nodelay, rcvbuf, sndbuf);
	if (!opens && listen(end.listener, 1))
		fail("listen: %s", strerror(errno));
	end.zero_ns = begin_ms * 1000000;
	end.real_ns = end.zero_ns + now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC);
	end.real_ns = (end.real_ns + 500) / 1000 * 1000;
	look();
	fprintf(answers, "case %d\n", number);
}

static void reset_connection(void)
{
	struct linger at_once = { .l_onoff = 1 };

	if (end.fd < 0)
		return;
	set(end.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(end.fd);
	end.fd = -1;
}

/* Nothing of the case is left when the next one begins. */
static void end_case(void)
{
	look();
	end.port = 0;
	reset_connection();
	if (end.listener >= 0)
		close(end.listener);
	sleep_until(now_ns(CLOCK_MONOTONIC) + SECOND / 1000);
	look();
}

static void carry_out(char *line)
{
	char *words = line + strcspn(line, " "), *after;
	long long at;

	if (*words)
		*words++ = 0;
	if (!strcmp(line, "case")) {
		begin_case(words);
		return;
	}
	at = strtoll(words, &after, 10);
	/* Nothing has come since the last turn found nothing. */
	if (!strcmp(line, "read") && end.is_read_up)
		return;
	end.is_read_up = 0;
	wait_until(end.zero_ns + at);
	if (!strcmp(line, "end")) {
		end_case();
		return;
	}
	if (!strcmp(line, "packet")) {
		inject(after);
		/* What is sent in more than ten turns is left to ksoftirqd (MAX_SOFTIRQ_RESTART): that comes first. */
		sched_yield();
	} else if (!strcmp(line, "open"))
		open_connection();
	else if (!strcmp(line, "write"))
		end.pending += atoll(after);
	else if (!strcmp(line, "close"))
		end.closes = 1;
	else if (!strcmp(line, "abort"))
		reset_connection();
	else if (!strcmp(line, "stop"))
		end.stops = 1;
	else if (!strcmp(line, "quit") && end.fd >= 0) {
		close(end.fd);
		end.fd = -1;
	}
	else if (!strcmp(line, "read") && end.fd >= 0)
		read_in_turn(atoll(after));
	/* Softirqs leave to a thread of the kernel what takes more than ten rounds, as the transmission of a large window does. */
	sched_yield();
	let_application_act();
	if (!strcmp(line, "packet"))
		show_info(at);
}

int main(int argc, char **argv)
{
	char path[128], *line = NULL;
	size_t room = 0;
	FILE *cases;
	int mine, theirs;

	if (argc != 4)
		fail("expected: driver NAMESPACE CASES ANSWERS");
	/* Sleep ends at its time, not up to 50 us later. */
	prctl(PR_SET_TIMERSLACK, 1);
	alarm_clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (alarm_clock < 0)
		fail("alarm clock: %s", strerror(errno));
	snprintf(path, sizeof(path), "/run/netns/%s", argv[1]);
	mine = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	theirs = open(path, O_RDONLY | O_CLOEXEC);
	if (mine < 0 || theirs < 0 || setns(theirs, CLONE_NEWNET))
		fail("%s: %s", path, strerror(errno));
	open_device(&devices[0], 0);
	open_device(&devices[1], 1);
	if (setns(mine, CLONE_NEWNET))
		fail("setns: %s", strerror(errno));
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (timer < 0)
		fail("timer: %s", strerror(errno));
	cases = fopen(argv[2], "re");
	answers = fopen(argv[3], "we");
	if (!cases || !answers)
		fail("%s or %s: %s", argv[2], argv[3], strerror(errno));
	while (getline(&line, &room, cases) > 0)
		carry_out(line);
	if (fclose(answers))
		fail("%s: %s", argv[3], strerror(errno));
	return 0;
}
