/* Packets at the devices of the hosts, or at several devices of the path, to pcap files with nanoseconds; times are those of the run, from a
 * fixed day on. A filter cuts each off behind SNAPLEN bytes: what is cut has a head of its own. A clone of the whole would share the head with the packet that goes on until it is read, and
 * TCP does not join such segments in its queues (skb_try_coalesce), which its windows would show. */
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SNAPLEN 128
#define PCAP_NANOSECONDS 0xa1b23c4d
#define LINKTYPE_ETHERNET 1
#define MOST_DEVICES 8
#define ROOM (32 << 20) /* bytes that may wait in the socket: one burst at most, since reading them takes no virtual time */

/* Time 0 of the run, s since 1970 (EPOCH_S of crates/trace/src/write.rs). */
#define EPOCH 1577836800

struct pcap_header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy, snaplen, linktype;
};

struct pcap_packet {
	uint32_t seconds, nanoseconds, captured, length;
};

/* Takes the packets of some devices, or of all if none is named; a socket for each would not keep their order. */
static int attach_filter(const struct capture *capture)
{
	struct sock_filter code[2 * MOST_DEVICES + 2], *next = code;
	struct sock_fprog filter = { .filter = code };
	char **device;

	if (*capture->devices)
		*next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_IFINDEX);
	for (device = capture->devices; *device; device++) {
		if (device == capture->devices + MOST_DEVICES)
			fail("capture %s: more than %d devices", capture->name, MOST_DEVICES);
		*next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, if_nametoindex(*device), 0, 1);
		*next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SNAPLEN);
	}
	*next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, *capture->devices ? 0 : SNAPLEN);
	filter.len = next - code;
	return setsockopt(capture->fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

void open_capture(struct capture *capture)
{
	static const struct pcap_header header = { .magic = PCAP_NANOSECONDS, .major = 2, .minor = 4, .snaplen = SNAPLEN, .linktype = LINKTYPE_ETHERNET };
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int room = ROOM, on = 1;

	enter_namespace(capture->namespace);
	at.sll_ifindex = *capture->devices ? 0 : if_nametoindex("eth0");
	capture->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (capture->fd < 0 || attach_filter(capture) ||
	    setsockopt(capture->fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) ||
	    setsockopt(capture->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    setsockopt(capture->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) || bind(capture->fd, (void *)&at, sizeof(at)))
		fail("capture in %s: %s", capture->namespace, strerror(errno));
	capture->file = fopen(capture->name, "we");
	if (!capture->file || fwrite(&header, sizeof(header), 1, capture->file) != 1)
		fail("%s: %s", capture->name, strerror(errno));
}

static int read_packet(struct capture *capture, struct timespec zero)
{
	char bytes[SNAPLEN], control[128];
	struct iovec part = { .iov_base = bytes, .iov_len = sizeof(bytes) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	ssize_t length = recvmsg(capture->fd, &message, 0);
	struct tpacket_auxdata whole = { 0 };
	struct pcap_packet packet;
	struct cmsghdr *note;
	struct timespec when = { 0 };

	if (length < 0)
		return 0;
	for (note = CMSG_FIRSTHDR(&message); note; note = CMSG_NXTHDR(&message, note))
		if (note->cmsg_level == SOL_SOCKET && note->cmsg_type == SCM_TIMESTAMPNS)
			memcpy(&when, CMSG_DATA(note), sizeof(when));
		else if (note->cmsg_level == SOL_PACKET && note->cmsg_type == PACKET_AUXDATA)
			memcpy(&whole, CMSG_DATA(note), sizeof(whole));
	if (when.tv_nsec < zero.tv_nsec) {
		when.tv_sec--;
		when.tv_nsec += 1000000000;
	}
	packet = (struct pcap_packet){ .seconds = EPOCH + when.tv_sec - zero.tv_sec, .nanoseconds = when.tv_nsec - zero.tv_nsec,
				       .captured = length, .length = whole.tp_len };
	if (fwrite(&packet, sizeof(packet), 1, capture->file) != 1 || fwrite(bytes, packet.captured, 1, capture->file) != 1)
		fail("%s: %s", capture->name, strerror(errno));
	return 1;
}

/* `zero` is the run's time 0 on CLOCK_REALTIME. */
void drain_capture(struct capture *capture, struct timespec zero)
{
	while (read_packet(capture, zero))
		;
}

void close_capture(struct capture *capture, struct timespec zero)
{
	struct tpacket_stats stats;
	socklen_t size = sizeof(stats);

	drain_capture(capture, zero);
	if (getsockopt(capture->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) || stats.tp_drops)
		fail("%s: packets were lost", capture->name);
	close(capture->fd);
	if (fclose(capture->file))
		fail("%s: %s", capture->name, strerror(errno));
}
