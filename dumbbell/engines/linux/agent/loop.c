/* Waits for events: sockets in several namespaces, timers and more, one epoll. The guest's kernel can do the errands of ends by itself, which
 * saves system calls: it calls the same with the same sizes, in the same order and at the same time (07-errands.patch of the engine kernel). Other
 * kernels refuse, and leave all to the agent. */
#include "agent.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

/* The data of an event: descriptor, enum event, index. */
#define FD_SHIFT 40
#define EVENT_SHIFT 32
#define EVENT_MASK 0xff

struct errands {
	uint64_t events, ends;
	uint32_t most, n;
	int32_t done; /* so many of the events need nothing any more */
	uint32_t unused;
};
#define DO_ERRANDS _IOWR(0x8a, 0x40, struct errands)
_Static_assert(!offsetof(struct end, fd) && offsetof(struct end, namespace) == 88, "struct end begins as the kernel's struct errand");

static int poll_fd;
static struct end **ends; /* by descriptor; NULL: it is none's */
static int n_ends;
static int kernel_refuses;

void open_loop(void)
{
	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (poll_fd < 0)
		fail("epoll: %s", strerror(errno));
}

static void control(int operation, int fd, uint32_t events, enum event what, int index)
{
	struct epoll_event event = { .events = events, .data.u64 = (uint64_t)fd << FD_SHIFT | (uint64_t)what << EVENT_SHIFT | (uint32_t)index };

	if (epoll_ctl(poll_fd, operation, fd, &event))
		fail("epoll: %s", strerror(errno));
}

enum event event_of(const struct epoll_event *event)
{
	return event->data.u64 >> EVENT_SHIFT & EVENT_MASK;
}

int index_of(const struct epoll_event *event)
{
	return (uint32_t)event->data.u64;
}

static void set_end(int fd, struct end *end)
{
	int room = n_ends;

	while (room <= fd)
		room = room ? 2 * room : MOST_EVENTS;
	if (room > n_ends) {
		ends = reserve(ends, room * sizeof(*ends));
		memset(ends + n_ends, 0, (room - n_ends) * sizeof(*ends));
		n_ends = room;
	}
	ends[fd] = end;
}

void watch(int fd, uint32_t events, enum event event, int index)
{
	set_end(fd, NULL);
	control(EPOLL_CTL_ADD, fd, events, event, index);
}

/* An end's socket, whose errand is done without the agent where that is possible. */
void watch_end(struct end *end, uint32_t events, enum event event, int index)
{
	watch(end->fd, events, event, index);
	set_end(end->fd, end);
}

/* The timer of an end that does its errand in turns. */
void watch_turns(struct end *end, int timer_fd, int index)
{
	end->turn_fd = timer_fd;
	watch(timer_fd, EPOLLIN, TIMER, index);
	set_end(timer_fd, end);
}

void change_watch(int fd, uint32_t events, enum event event, int index)
{
	control(EPOLL_CTL_MOD, fd, events, event, index);
}

void unwatch(int fd)
{
	control(EPOLL_CTL_DEL, fd, 0, END, 0);
}

/* Waits for events; how many there are. Those before `first` need nothing any more. */
int next_events(struct epoll_event *events, int *first)
{
	struct errands errands = { .events = (uintptr_t)events, .ends = (uintptr_t)ends, .most = MOST_EVENTS, .n = n_ends };
	int n;

	if (!kernel_refuses) {
		n = ioctl(poll_fd, DO_ERRANDS, &errands);
		*first = errands.done;
		if (n >= 0 || errno == EINTR)
			return n;
		kernel_refuses = 1;
	}
	*first = 0;
	return epoll_wait(poll_fd, events, MOST_EVENTS, -1);
}
