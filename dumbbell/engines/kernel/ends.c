/* Drives one end of TCP connections of the guest's kernel, packet by packet: the application's calls on a socket, and the packets of its peer
 * through a packet socket at the other end of a veth pair, all at exact times. Each connection is a case; cases follow one another.
 *
 * Arguments: the namespace of the peer, the file of the cases, the file of the answers. Times are ns from the beginning of the case. The lines
 * of a case:
 *
 *   case NUMBER CC ECN DEVICE NODELAY RCVBUF SNDBUF READS OPENS    begins it; READS and OPENS are 0 or 1
 *   open TIME, write TIME BYTES, read TIME BYTES, close TIME       what the application does
 *   packet TIME FLAGS SEQ ACK PAYLOAD WINDOW TSVAL TSECR ECN SCALE BLOCKS FROM TO ...
 *   end TIME
 *
 * and of its answers:
 *
 *   case NUMBER
 *   sent TIME FLAGS SEQ ACK PAYLOAD WINDOW TSVAL TSECR ECN SCALE BLOCKS FROM TO ...
 *   info TIME CA_STATE CWND SSTHRESH SRTT RTTVAR RTO REORDERING UNACKED SACKED LOST RETRANS BUSY RWND SNDBUF
 *
 * Sequence numbers are relative; the end's timestamps count from the beginning of the case; SCALE is -1 without the option. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
/* A case begins at a multiple of 2^15 jiffies, which count from -300 s at 1000 a second: there the timer wheel rounds as at its beginning. */
#define ALIGNED_MS 32768LL
#define FIRST_MS (300000 % ALIGNED_MS)
#define ROOM (32 << 20) /* bytes of packets that may wait in the packet socket */
#define WRITE_MOST (1 << 20)
#define READ_MOST (1 << 30)
#define ISS 1000000u /* the peer's initial sequence number */
#define END_PORT 2000
/* States of a connection (the kernel's enum, of which netinet/tcp.h has the names, is not in linux/tcp.h). */
#define ESTABLISHED 1
#define CLOSE_WAIT 8
#define MOST_PAYLOAD 1460
#define MOST_BLOCKS 4
#define FRAME 2048 /* a packet and what is about it, in one page */
#define FRAMES 64

/* Of every device: without address resolution a packet goes to its own. */
static const unsigned char mac[ETH_ALEN] = { 2, 0, 0, 0, 0, 1 };
static char zeros[WRITE_MOST];
static FILE *answers;

/* One of the pairs of devices: with and without TSO. */
struct device {
	const char *address; /* of the end; that of the peer is one more */
	int fd, sender; /* packet sockets at the peer's device */
	unsigned char *ring; /* frames that the latter sends */
	int next;
};

static struct device devices[] = { { .address = "10.0.0.1" }, { .address = "10.0.1.1" } };

/* The connection of the case in hand. Wide because it has the application's state beside the numbers of both ends. */
static struct {
	struct device *device;
	int64_t zero_ns, real_ns; /* its beginning, monotonic and real */
	int listener, fd; /* -1: none */
	int connected, reads_at_rate, knows_isn;
	uint64_t pending; /* bytes to write */
	int closes, has_closed;
	uint32_t isn;
	uint16_t port;
} end;

static void fail(const char *format, ...)
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

static void sleep_until(int64_t ns)
{
	struct timespec at = { .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static void set(int fd, int level, int option, const void *value, socklen_t size)
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

/* Packets are sent from a ring, and have headers apart from their payload: so they are charged to the receiving socket as those of a real sender
 * are, which its window shows. */
static void open_sender(struct device *device, int index)
{
	struct tpacket_req ring = { .tp_block_size = FRAMES * FRAME, .tp_block_nr = 1, .tp_frame_size = FRAME, .tp_frame_nr = FRAMES };
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_ifindex = index };
	int version = TPACKET_V2, on = 1;

	device->sender = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (device->sender < 0 || bind(device->sender, (void *)&at, sizeof(at)))
		fail("packet socket: %s", strerror(errno));
	set(device->sender, SOL_PACKET, PACKET_VERSION, &version, sizeof(version));
	set(device->sender, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on));
	set(device->sender, SOL_PACKET, PACKET_TX_RING, &ring, sizeof(ring));
	device->ring = mmap(NULL, FRAMES * FRAME, PROT_READ | PROT_WRITE, MAP_SHARED, device->sender, 0);
	if (device->ring == MAP_FAILED)
		fail("ring of packets: %s", strerror(errno));
}

/* Sends a packet whose payload is zeros. */
static void send_packet(struct device *device, const unsigned char *headers, size_t length, size_t payload)
{
	unsigned char *frame = device->ring + device->next * FRAME, *data = frame + TPACKET2_HDRLEN - sizeof(struct sockaddr_ll);
	struct tpacket2_hdr *about = (void *)frame;
	struct virtio_net_hdr head = { .hdr_len = length };

	device->next = (device->next + 1) % FRAMES;
	if (about->tp_status != TP_STATUS_AVAILABLE)
		fail("a packet cannot be sent: the ring is full");
	memcpy(data, &head, sizeof(head));
	memcpy(data + sizeof(head), headers, length);
	memset(data + sizeof(head) + length, 0, payload);
	about->tp_len = sizeof(head) + length + payload;
	about->tp_status = TP_STATUS_SEND_REQUEST;
	if (send(device->sender, NULL, 0, MSG_DONTWAIT) < 0)
		fail("a packet cannot be sent: %s", strerror(errno));
}

/* The packet sockets at the peer's end of a pair. */
static void open_device(struct device *device, int number)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP) };
	char name[16];
	int room = ROOM, on = 1;

	snprintf(name, sizeof(name), "peer%d", number);
	at.sll_ifindex = if_nametoindex(name);
	device->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (!at.sll_ifindex || device->fd < 0 || bind(device->fd, (void *)&at, sizeof(at)))
		fail("%s: %s", name, strerror(errno));
	open_sender(device, at.sll_ifindex);
	set(device->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	set(device->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
	set(device->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
}

static uint32_t get32(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, 4);
	return ntohl(value);
}

static unsigned char *put32(unsigned char *at, uint32_t value)
{
	value = htonl(value);
	memcpy(at, &value, 4);
	return at + 4;
}

/* The options of a packet; scale is -1 without it. */
struct options {
	uint32_t tsval, tsecr, blocks[2 * MOST_BLOCKS];
	int scale, n;
};

static struct options read_options(const unsigned char *at, const unsigned char *over)
{
	struct options found = { .scale = -1 };
	int i;

	while (at < over && *at) {
		if (*at == 1) {
			at++;
			continue;
		}
		if (at + 2 > over || at[1] < 2 || at + at[1] > over)
			break;
		if (*at == 3)
			found.scale = at[2];
		else if (*at == 8)
			found.tsval = get32(at + 2) - end.zero_ns / 1000000, found.tsecr = get32(at + 6);
		else if (*at == 5)
			for (i = 0; i < (at[1] - 2) / 4 && i < 2 * MOST_BLOCKS; i++, found.n = i / 2)
				found.blocks[i] = get32(at + 2 + 4 * i) - ISS;
		at += at[1];
	}
	return found;
}

/* Writes a packet that the end has sent. */
static void show(const unsigned char *bytes, size_t length, int64_t when_ns)
{
	const struct iphdr *ip = (const void *)bytes;
	const struct tcphdr *tcp = (const void *)(bytes + 4 * ip->ihl);
	uint32_t header = 4 * ip->ihl + 4 * tcp->doff;
	struct options options;
	int i;

	if (length < sizeof(*ip) + sizeof(*tcp) || ip->protocol != IPPROTO_TCP || ntohs(tcp->dest) != end.port)
		return;
	if (tcp->syn && !end.knows_isn) {
		end.isn = ntohl(tcp->seq);
		end.knows_isn = 1;
	}
	options = read_options((const void *)(tcp + 1), bytes + (header < length ? header : length));
	fprintf(answers, "sent %lld %d %u %u %u %u %u %u %d %d %d", (long long)(when_ns - end.real_ns), ((const unsigned char *)tcp)[13],
		ntohl(tcp->seq) - end.isn, tcp->ack ? ntohl(tcp->ack_seq) - ISS : 0, ntohs(ip->tot_len) - header, ntohs(tcp->window),
		options.tsval, options.tsecr, ip->tos & 3, options.scale, options.n);
	for (i = 0; i < 2 * options.n; i++)
		fprintf(answers, " %u", options.blocks[i]);
	fputc('\n', answers);
}

/* Reads what the end has sent so far. */
static void look(void)
{
	unsigned char bytes[128];
	char control[128];

	for (;;) {
		struct iovec part = { .iov_base = bytes, .iov_len = sizeof(bytes) };
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
		ssize_t length = recvmsg(end.device->fd, &message, 0);
		struct timespec when = { 0 };
		struct cmsghdr *note;

		if (length < 0)
			return;
		for (note = CMSG_FIRSTHDR(&message); note; note = CMSG_NXTHDR(&message, note))
			if (note->cmsg_level == SOL_SOCKET && note->cmsg_type == SCM_TIMESTAMPNS)
				memcpy(&when, CMSG_DATA(note), sizeof(when));
		show(bytes, length, when.tv_sec * SECOND + when.tv_nsec);
	}
}

static uint32_t sum(const void *bytes, size_t length, uint32_t total)
{
	const unsigned char *at = bytes;
	size_t i;

	for (i = 0; i + 1 < length; i += 2)
		total += at[i] << 8 | at[i + 1];
	return total;
}

static uint16_t folded(uint32_t total)
{
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return htons(~total);
}

/* A packet of the peer. Its payload is zeros, which checksums do not see. */
static void inject(char *words)
{
	unsigned char bytes[ETH_HLEN + 20 + 60] = { 0 }, *segment = bytes + ETH_HLEN + 20, *at = segment + 20;
	struct iphdr *ip = (void *)(bytes + ETH_HLEN);
	struct tcphdr *tcp = (void *)segment;
	struct ethhdr *ethernet = (void *)bytes;
	long long v[10 + 2 * MOST_BLOCKS];
	int n = 0, i;
	char *word;

	for (word = strtok(words, " \n"); word && n < (int)(sizeof(v) / sizeof(*v)); word = strtok(NULL, " \n"))
		v[n++] = atoll(word);
	if (n < 10 || v[3] > MOST_PAYLOAD)
		fail("a packet cannot be read");
	if (v[2] && !end.knows_isn)
		look();
	if (v[0] & 0x02) {
		static const unsigned char mss_and_sack[] = { 2, 4, MOST_PAYLOAD >> 8, MOST_PAYLOAD & 0xff, 4, 2 };

		memcpy(at, mss_and_sack, sizeof(mss_and_sack));
		at += sizeof(mss_and_sack);
	} else {
		*at++ = 1;
		*at++ = 1;
	}
	*at++ = 8;
	*at++ = 10;
	at = put32(put32(at, v[5]), v[6] ? v[6] + end.zero_ns / 1000000 : 0);
	if (v[0] & 0x02) {
		*at++ = 1;
		*at++ = 3;
		*at++ = 3;
		*at++ = v[8] < 0 ? 0 : v[8];
	} else if (v[9]) {
		*at++ = 1;
		*at++ = 1;
		*at++ = 5;
		*at++ = 2 + 8 * v[9];
		for (i = 0; i < 2 * v[9]; i++)
			at = put32(at, v[10 + i] + end.isn);
	}
	*tcp = (struct tcphdr){ .source = htons(end.port), .dest = htons(END_PORT), .seq = htonl(v[1] + ISS), .doff = (at - segment) / 4, .window = htons(v[4]) };
	segment[13] = v[0];
	tcp->ack_seq = tcp->ack ? htonl(v[2] + end.isn) : 0;
	*ip = (struct iphdr){ .version = 4, .ihl = 5, .tos = v[7], .tot_len = htons(20 + at - segment + v[3]), .frag_off = htons(0x4000), .ttl = 64, .protocol = IPPROTO_TCP };
	inet_pton(AF_INET, end.device->address, &ip->daddr);
	ip->saddr = htonl(ntohl(ip->daddr) + 1);
	tcp->check = folded(sum(segment, at - segment, sum(&ip->saddr, 8, IPPROTO_TCP + at - segment + v[3])));
	ip->check = folded(sum(ip, 20, 0));
	memcpy(ethernet->h_dest, mac, ETH_ALEN);
	memcpy(ethernet->h_source, mac, ETH_ALEN);
	ethernet->h_proto = htons(ETH_P_IP);
	send_packet(end.device, bytes, at - bytes, v[3]);
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
	if (!end.reads_at_rate && bytes_to_read())
		recv(end.fd, NULL, READ_MOST, MSG_TRUNC);
	if (!read_info(&info))
		return;
	if (info.tcpi_state == CLOSE_WAIT && !end.reads_at_rate && !end.closes) {
		recv(end.fd, NULL, READ_MOST, MSG_TRUNC);
		end.closes = 1;
	}
	if (end.has_closed || (info.tcpi_state != ESTABLISHED && info.tcpi_state != CLOSE_WAIT))
		return;
	if (end.pending && has_room())
		write_pending();
	if (end.closes && !end.pending) {
		end.has_closed = 1;
		shutdown(end.fd, SHUT_WR);
	}
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
	int number, ecn, device, nodelay, rcvbuf, sndbuf, reads, opens;
	char cc[16], text[2] = { 0 };
	int64_t begin_ms;

	if (sscanf(words, "%d %15s %d %d %d %d %d %d %d", &number, cc, &ecn, &device, &nodelay, &rcvbuf, &sndbuf, &reads, &opens) != 9 || device < 0 || device > 1)
		fail("a case cannot be read");
	begin_ms = now_ns(CLOCK_MONOTONIC) / 1000000 + 1000 - FIRST_MS;
	begin_ms = (begin_ms / ALIGNED_MS + 1) * ALIGNED_MS + FIRST_MS;
	memset(&end, 0, sizeof(end));
	end.device = &devices[device];
	end.port = 10000 + number % 50000;
	end.reads_at_rate = reads;
	end.listener = end.fd = -1;
	*text = '0' + ecn;
	write_file("/proc/sys/net/ipv4/tcp_ecn", text);
	*(opens ? &end.fd : &end.listener) = make_socket(cc, nodelay, rcvbuf, sndbuf);
	if (!opens && listen(end.listener, 1))
		fail("listen: %s", strerror(errno));
	end.zero_ns = begin_ms * 1000000;
	end.real_ns = end.zero_ns + now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC);
	end.real_ns = (end.real_ns + 500) / 1000 * 1000;
	look();
	fprintf(answers, "case %d\n", number);
}

/* Nothing of the case is left when the next one begins. */
static void end_case(void)
{
	struct linger at_once = { .l_onoff = 1 };

	look();
	if (end.fd >= 0) {
		set(end.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		close(end.fd);
	}
	if (end.listener >= 0)
		close(end.listener);
	sleep_until(now_ns(CLOCK_MONOTONIC) + SECOND / 1000);
	end.port = 0;
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
	sleep_until(end.zero_ns + at);
	if (!strcmp(line, "end")) {
		end_case();
		return;
	}
	if (!strcmp(line, "packet"))
		inject(after);
	else if (!strcmp(line, "open"))
		open_connection();
	else if (!strcmp(line, "write"))
		end.pending += atoll(after);
	else if (!strcmp(line, "close"))
		end.closes = 1;
	else if (!strcmp(line, "read") && end.fd >= 0 && recv(end.fd, NULL, atoll(after), MSG_TRUNC) == 0)
		end.closes = 1;
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
		fail("expected: ends NAMESPACE CASES ANSWERS");
	/* Sleep ends at its time, not up to 50 us later. */
	prctl(PR_SET_TIMERSLACK, 1);
	snprintf(path, sizeof(path), "/run/netns/%s", argv[1]);
	mine = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	theirs = open(path, O_RDONLY | O_CLOEXEC);
	if (mine < 0 || theirs < 0 || setns(theirs, CLONE_NEWNET))
		fail("%s: %s", path, strerror(errno));
	open_device(&devices[0], 0);
	open_device(&devices[1], 1);
	if (setns(mine, CLONE_NEWNET))
		fail("setns: %s", strerror(errno));
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
