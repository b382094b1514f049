/* Streams of datagrams over UDP and of ICMP echo requests: evenly spaced, or at listed times and of listed sizes. Of a stream that measures
 * each datagram begins with its number, and the times when it was sent, was there and was back are kept. */
#include "../agent.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/icmp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NOT_YET (-1)
#define LEAST_ROOM 1024
#define LOOK_MS 20 /* how often it is looked whether the queues are empty */
#define MOST_NUMBERS (1 << 24) /* of datagrams of another machine */
#define IP_WORDS 4 /* the unit of the length of an IP header, bytes */

static char datagram[65536];

/* Raw sockets of a host get the echo requests of all streams. */
void set_echo_filter(int fd)
{
	struct icmp_filter all_but_echo = { .data = ~(1U << ICMP_ECHO) };

	if (setsockopt(fd, SOL_RAW, ICMP_FILTER, &all_but_echo, sizeof(all_but_echo)))
		fail("ICMP filter: %s", strerror(errno));
}

/* The next line of the list, with the time in ns and the payload in bytes; the stream is over when there is none. */
static void read_next(struct datagrams *it)
{
	if (fscanf(it->list, "%" SCNd64 " %d", &it->next_ns, &it->payload) != 2)
		it->next_ns = NOT_YET;
}

void start_datagrams(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];

	if (!is_here(&flow->from)) {
		if (is_here(&flow->to) && flow->datagrams.reply && !flow->datagrams.icmp)
			connect_to(&flow->to, &flow->from);
		flow->state = ACTIVE;
		return;
	}
	connect_to(&flow->from, &flow->to);
	if (flow->datagrams.reply) {
		watch(flow->from.fd, EPOLLIN, FROM, i);
		if (!flow->datagrams.icmp && is_here(&flow->to))
			connect_to(&flow->to, &flow->from);
	}
	flow->state = ACTIVE;
	if (flow->datagrams.list) {
		read_next(&flow->datagrams);
		if (flow->datagrams.next_ns == NOT_YET)
			return;
		close(flow->timer_fd);
		flow->timer_fd = make_timer(script, flow->datagrams.next_ns, 0);
		watch(flow->timer_fd, EPOLLIN, TIMER, i);
		return;
	}
	close(flow->timer_fd);
	flow->timer_fd = make_timer(script, flow->start_ns, flow->datagrams.interval_ns);
	watch_turns(&flow->from, flow->timer_fd, i);
	if (!flow->datagrams.icmp && !flow->datagrams.measured)
		flow->from.errand = SEND_IN_TURNS;
	flow->from.payload = flow->datagrams.payload;
	flow->from.until = flow->datagrams.count < 0 ? UINT64_MAX : (uint64_t)flow->datagrams.count;
}

/* Room for the times of one more datagram. */
static struct times *next_times(struct datagrams *it)
{
	if (it->n == it->room) {
		it->room = it->room ? 2 * it->room : LEAST_ROOM;
		it->times = reserve(it->times, it->room * sizeof(*it->times));
	}
	it->times[it->n] = (struct times){ .sent_ns = NOT_YET, .there_ns = NOT_YET, .back_ns = NOT_YET };
	return &it->times[it->n++];
}

/* Sends the next datagram, and notes the time after it has gone, since reading the clock takes time. */
static void send_next(const struct script *script, struct flow *flow)
{
	struct datagrams *it = &flow->datagrams;
	int64_t number = it->n;
	size_t header = it->icmp ? sizeof(struct icmphdr) : 0;

	if (it->measured) {
		memset(datagram, 0, header);
		if (it->icmp)
			*(struct icmphdr *)datagram = (struct icmphdr){ .type = ICMP_ECHO, .un.echo.sequence = htons(number) };
		memcpy(datagram + header, &number, sizeof(number));
	}
	if (send(flow->from.fd, datagram, header + it->payload, MSG_NOSIGNAL) <= 0)
		return;
	flow->from.sent++;
	if (it->measured)
		next_times(it)->sent_ns = since_epoch(script);
}

void send_datagrams(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	struct datagrams *it = &flow->datagrams;
	uint64_t due;

	if (flow->state == ACTIVE && it->count >= 0 && flow->from.sent == (uint64_t)it->count)
		stop_datagrams(flow); /* the kernel has sent the last */
	if (flow->state != ACTIVE || read(flow->timer_fd, &due, sizeof(due)) != sizeof(due))
		return;
	if (!it->list) {
		while (due-- && flow->state == ACTIVE) {
			send_next(script, flow);
			if (it->count >= 0 && flow->from.sent == (uint64_t)it->count)
				stop_datagrams(flow);
		}
		return;
	}
	send_next(script, flow);
	read_next(it);
	if (it->next_ns != NOT_YET)
		wake_at(script, flow, it->next_ns);
}

/* What a socket has received: the number of the datagram, or -1 if it is of another stream. A raw socket gives the IP header as well; of the
 * ping socket the kernel takes care that only its own replies come. */
static int64_t receive_number(struct flow *flow, const struct end *end, ssize_t *bytes)
{
	struct datagrams *it = &flow->datagrams;
	const struct icmphdr *icmp;
	size_t header = 0;
	int64_t number;

	*bytes = recv(end->fd, datagram, sizeof(datagram), 0);
	if (it->icmp) {
		header = end == &flow->to ? (datagram[0] & 15) * IP_WORDS : 0;
		icmp = (const void *)(datagram + header);
		header += sizeof(*icmp);
		if (*bytes < (ssize_t)header || (end == &flow->to && icmp->un.echo.id != htons(flow->from.port)))
			return -1;
	}
	if (*bytes < (ssize_t)(header + sizeof(number)))
		return -1;
	memcpy(&number, datagram + header, sizeof(number));
	/* Those of another machine are not known before they come. */
	while (!is_here(&flow->from) && number >= it->n && number < MOST_NUMBERS)
		next_times(it);
	return number >= 0 && number < it->n ? number : -1;
}

/* What comes when the run is over counts as under way, also where the timer of the end is late, as it can be in real time. */
static int is_over(const struct script *script, int64_t time_ns)
{
	return time_ns > script->duration_ns;
}

/* A datagram has reached the other end, which sends it back before it looks at the clock; the kernel itself does so with an echo request. Of
 * copies that a link has made the first gives the time, here and on the way back. */
void receive_datagram(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	struct end *to = &flow->to;
	struct datagrams *it = &flow->datagrams;
	int64_t number, there_ns;
	int answered;
	ssize_t bytes;

	if (!it->measured) {
		if (receive_rest(to, 0) > 0)
			to->received++;
		return;
	}
	number = receive_number(flow, to, &bytes);
	if (number < 0)
		return;
	answered = it->reply && (it->icmp || send(to->fd, datagram, bytes, MSG_NOSIGNAL) > 0);
	there_ns = since_epoch(script);
	if (it->times[number].there_ns == NOT_YET)
		it->times[number].there_ns = there_ns;
	if (!is_over(script, there_ns)) {
		to->received++;
		to->sent += answered;
	}
}

/* A reply is back. */
void receive_reply(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];
	ssize_t bytes;
	int64_t number = receive_number(flow, &flow->from, &bytes), back_ns;

	if (number < 0)
		return;
	back_ns = since_epoch(script);
	if (flow->datagrams.times[number].back_ns == NOT_YET)
		flow->datagrams.times[number].back_ns = back_ns;
	if (!is_over(script, back_ns))
		flow->from.received++;
}

void stop_datagrams(struct flow *flow)
{
	flow->from.errand = NONE;
	timerfd_settime(flow->timer_fd, 0, &(struct itimerspec){ 0 }, NULL);
	flow->state = STOPPED;
}

int queues_are_empty(struct script *script)
{
	int i;

	read_qdiscs(script);
	for (i = 0; i < script->n_ports; i++)
		if (script->ports[i].qlen > 0)
			return 0;
	return 1;
}

static void write_times(const struct flow *flow, int i)
{
	const struct datagrams *it = &flow->datagrams;
	char name[64];
	FILE *file;

	snprintf(name, sizeof(name), "datagrams-%d", i);
	file = fopen(name, "we");
	if (!file || fwrite(it->times, sizeof(*it->times), it->n, file) != (size_t)it->n || fclose(file))
		fail("%s: %s", name, strerror(errno));
}

/* Waits for what was under way when the run ended, until all queues are empty: what arrives now was not lost. Then writes all times. */
void drain(struct script *script)
{
	struct epoll_event events[64], event = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC), empty = 0, n, i;

	if (fd < 0)
		fail("epoll: %s", strerror(errno));
	for (i = 0; i < script->n_flows; i++) {
		struct flow *flow = &script->flows[i];

		if (flow->traffic != DATAGRAMS || !flow->datagrams.measured)
			continue;
		event.data.u64 = i;
		if (is_here(&flow->to) && epoll_ctl(fd, EPOLL_CTL_ADD, flow->to.fd, &event))
			fail("epoll: %s", strerror(errno));
		event.data.u64 = (uint64_t)1 << 32 | (uint32_t)i;
		if (flow->datagrams.reply && is_here(&flow->from) && epoll_ctl(fd, EPOLL_CTL_ADD, flow->from.fd, &event))
			fail("epoll: %s", strerror(errno));
	}
	/* A packet may be between two queues: it is, at most, in one of two looks. */
	while (empty < 2) {
		n = epoll_wait(fd, events, sizeof(events) / sizeof(*events), LOOK_MS);
		for (i = 0; i < n; i++) {
			if (events[i].data.u64 >> 32)
				receive_reply(script, (uint32_t)events[i].data.u64);
			else
				receive_datagram(script, (uint32_t)events[i].data.u64);
		}
		if (!n)
			empty = queues_are_empty(script) ? empty + 1 : 0;
	}
	for (i = 0; i < script->n_flows; i++)
		if (script->flows[i].traffic == DATAGRAMS && script->flows[i].datagrams.measured)
			write_times(&script->flows[i], i);
}
