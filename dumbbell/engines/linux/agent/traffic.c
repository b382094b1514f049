/* The events of the run, in one process: what comes of each. Nothing here waits busily: under virtual time that would never end. */
#include "agent.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* From the guest's start to time 0; set-up is over long before. Jiffies count from -300 s at 1000 a second, so that they are then a multiple of
 * 512: the timer wheel rounds timers of up to 32 s to the multiples of the run's own milliseconds, as if the run had begun with the count. */
#define SETUP_S 44
#define LOOK_NS 20000000 /* how often it is looked whether the queues are empty */
#define LOOKS 5 /* that find nothing, one after the other: a packet may be between two queues, in a machine that is late */

struct timespec after(struct timespec from, int64_t ns)
{
	int64_t sum = from.tv_nsec + ns;

	return (struct timespec){ .tv_sec = from.tv_sec + sum / 1000000000, .tv_nsec = sum % 1000000000 };
}

/* Fires at `at_ns` of the run, then every `interval_ns` if that is not 0. */
int make_timer(const struct script *script, int64_t at_ns, int64_t interval_ns)
{
	struct itimerspec spec = { .it_value = after(script->epoch, at_ns),
				   .it_interval = { .tv_sec = interval_ns / 1000000000, .tv_nsec = interval_ns % 1000000000 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL))
		fail("timer: %s", strerror(errno));
	return fd;
}

int64_t since_epoch(const struct script *script)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - script->epoch.tv_sec) * 1000000000LL + now.tv_nsec - script->epoch.tv_nsec;
}

/* Which found nothing, one after the other. */
static int looks;

void look_again(void)
{
	looks = 0;
}

static void look_whether_empty(struct script *script)
{
	looks = queues_are_empty(script) ? looks + 1 : 0;
	if (looks == LOOKS)
		tell("empty");
}

/* A timer that is not read comes once, whatever its interval (Linux, fs/timerfd.c). */
static void read_timer(int fd)
{
	uint64_t times;

	if (read(fd, &times, sizeof(times)) < 0 && errno != EAGAIN)
		fail("timer: %s", strerror(errno));
}

typedef void (*handler)(struct script *script, int i);

/* What each kind of traffic does when an event of its comes. */
static const struct {
	handler start, accept, from, to, timer;
	void (*stop)(struct flow *flow);
} kinds[] = {
	[BULK] = { start_bulk, accept_bulk, handle_bulk_from, handle_bulk_to, read_at_rate, stop_bulk },
	[SESSION] = { start_session, accept_session, handle_session_from, handle_session_to, handle_session_timer, stop_session },
	[DATAGRAMS] = { start_datagrams, NULL, receive_reply, receive_datagram, send_datagrams, stop_datagrams },
	[PROGRAMS] = { .start = start_client, .stop = stop_programs },
};

static void handle(struct script *script, enum event event, int i)
{
	switch (event) {
	case START:
		kinds[script->flows[i].traffic].start(script, i);
		break;
	case STOP:
		if (script->flows[i].traffic == PROGRAMS)
			read_ends(script, &script->flows[i]);
		kinds[script->flows[i].traffic].stop(&script->flows[i]);
		break;
	case LISTEN:
		kinds[script->flows[i].traffic].accept(script, i);
		break;
	case FROM:
		kinds[script->flows[i].traffic].from(script, i);
		break;
	case TO:
		kinds[script->flows[i].traffic].to(script, i);
		break;
	case TIMER:
		kinds[script->flows[i].traffic].timer(script, i);
		break;
	case COMMAND:
		run_program(script->commands[i].words);
		break;
	case CAPTURE:
		drain_capture(&script->captures[i], script->zero);
		break;
	case TRANSFER_DUE:
		transfer_is_due(script, i);
		break;
	case TRANSFER_LISTEN:
		accept_transfer(i);
		break;
	case TRANSFER_FROM:
		handle_transfer_from(i);
		break;
	case TRANSFER_TO:
		handle_transfer_to(script, i);
		break;
	case LEASE:
		hear();
		break;
	case LEASE_CHECK:
		read_timer(i);
		check_lease();
		break;
	case EMPTY_CHECK:
		read_timer(i);
		look_whether_empty(script);
		break;
	case SOCKET_GONE:
		note_gone(script, i);
		break;
	case PROGRAM_ENDED:
		program_ended(script, i);
		break;
	case SAMPLE:
	case END:
		break;
	}
}

static void arm_all(struct script *script)
{
	int i;

	for (i = 0; i < script->n_flows; i++) {
		struct flow *flow = &script->flows[i];

		flow->timer_fd = make_timer(script, flow->start_ns, 0);
		watch(flow->timer_fd, EPOLLIN | EPOLLONESHOT, START, i);
		if (flow->stop_ns >= 0)
			watch(make_timer(script, flow->stop_ns, 0), EPOLLIN | EPOLLONESHOT, STOP, i);
	}
	for (i = 0; i < script->n_commands; i++)
		watch(make_timer(script, script->commands[i].at_ns, 0), EPOLLIN | EPOLLONESHOT, COMMAND, i);
	for (i = 0; i < script->n_captures; i++) {
		open_capture(&script->captures[i]);
		watch(script->captures[i].fd, EPOLLIN, CAPTURE, i);
	}
	watch(make_timer(script, script->duration_ns, 0), EPOLLIN | EPOLLONESHOT, END, 0);
}

/* In real time the controller says when time 0 is. It is a time of the monotonic clock from then on: a step of the other moves nothing. */
static void set_real_epoch(struct script *script)
{
	int64_t zero_ns = agree_on_epoch();
	struct timespec monotonic, real;

	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_REALTIME, &real);
	script->zero = (struct timespec){ .tv_sec = zero_ns / 1000000000, .tv_nsec = zero_ns % 1000000000 };
	script->epoch = after(monotonic, (script->zero.tv_sec - real.tv_sec) * 1000000000LL + script->zero.tv_nsec - real.tv_nsec);
	if (since_epoch(script) > 0)
		fail("time 0 was over by %lld ms when this machine was told of it", (long long)since_epoch(script) / 1000000);
}

static void set_epoch(struct script *script)
{
	struct timespec monotonic, real;

	if (in_real_time) {
		set_real_epoch(script);
		return;
	}
	script->epoch = (struct timespec){ .tv_sec = SETUP_S };
	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_REALTIME, &real);
	script->zero = after(real, (SETUP_S - monotonic.tv_sec) * 1000000000LL - monotonic.tv_nsec);
	if (since_epoch(script) > 0)
		fail("set-up took longer than %d s of virtual time", SETUP_S);
}

static void take_sample(struct script *script, int fd, int64_t *next_ns)
{
	uint64_t due;

	if (read(fd, &due, sizeof(due)) != sizeof(due))
		return;
	/* In real time a row has the time of its reading. */
	sample_flows(script, in_real_time ? since_epoch(script) : *next_ns);
	sample_ports(script, in_real_time ? since_epoch(script) : *next_ns);
	sample_machine(since_epoch(script));
	*next_ns += due * script->sample_ns;
}

/* Stops what is sent, so that the queues become empty; the controller says when it has waited enough for that. */
static void begin_to_end(struct script *script)
{
	int timer, i;

	count_flows(script);
	for (i = 0; i < script->n_flows; i++)
		if (script->flows[i].traffic == DATAGRAMS)
			stop_datagrams(&script->flows[i]);
		else if (script->flows[i].traffic == SESSION && script->flows[i].state != STOPPED)
			stop_session(&script->flows[i]);
	end_programs(script);
	for (i = 0; i < script->n_at_end; i++)
		run_program(script->at_end[i].words);
	tell("ended");
	if (script->n_ports) {
		timer = make_timer(script, since_epoch(script) + LOOK_NS, LOOK_NS);
		watch(timer, EPOLLIN, EMPTY_CHECK, timer);
	}
}

void run_traffic(struct script *script)
{
	struct epoll_event events[MOST_EVENTS];
	int64_t next_ns = 0;
	int sampler = -1, first, n, i;

	open_loop();
	make_sockets(script);
	make_transfers();
	start_servers(script);
	set_epoch(script);
	arm_all(script);
	arm_transfers(script);
	if (script->sample_ns) {
		sampler = make_timer(script, 0, script->sample_ns);
		watch(sampler, EPOLLIN, SAMPLE, 0);
	}
	if (in_real_time)
		watch_lease();
	while (!is_finished) {
		n = next_events(events, &first);
		for (i = first; i < n; i++) {
			enum event event = event_of(&events[i]);

			if (event == END) {
				if (sampler >= 0 && next_ns <= script->duration_ns)
					take_sample(script, sampler, &next_ns);
				for (i = 0; i < script->n_captures; i++)
					close_capture(&script->captures[i], script->zero);
				if (!in_real_time)
					return;
				if (sampler >= 0)
					unwatch(sampler);
				begin_to_end(script);
				break;
			}
			if (event == SAMPLE)
				take_sample(script, sampler, &next_ns);
			else
				handle(script, event, index_of(&events[i]));
		}
	}
}
