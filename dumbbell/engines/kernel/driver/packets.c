#include "driver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/tcp.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ROOM (32 << 20) /* bytes of packets that may wait in the packet socket */
#define ISS 1000000u /* the peer's initial sequence number */
#define MOST_PAYLOAD 1460
#define MOST_BLOCKS 4
#define FRAME 2048 /* a packet and what is about it, in one page */
#define FRAMES 64

/* The address of every device: without ARP, a device sends to its own address. */
static const unsigned char mac[ETH_ALEN] = { 2, 0, 0, 0, 0, 1 };

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
void open_device(struct device *device, int number)
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
void look(void)
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
void inject(char *words)
{
	unsigned char bytes[ETH_HLEN + 20 + 60] = { 0 }, *segment = bytes + ETH_HLEN + 20, *at = segment + 20;
	struct iphdr *ip = (void *)(bytes + ETH_HLEN);
	struct tcphdr *tcp = (void *)segment;
	struct ethhdr *ethernet = (void *)bytes;
	long long v[10 + 2 * MOST_BLOCKS] = { 0 };
	int n = 0, i;
	char *word;

	for (word = strtok(words, " \n"); word && n < (int)(sizeof(v) / sizeof(*v)); word = strtok(NULL, " \n"))
		v[n++] = atoll(word);
	if (n < 10 || v[3] > MOST_PAYLOAD || v[9] < 0 || v[9] > MOST_BLOCKS)
		fail("a packet cannot be read");
	if (v[2] && !end.knows_isn)
		look();
	if (v[0] & 0x02) {
		static const unsigned char mss_and_sack[] = { 2, 4, MOST_PAYLOAD >> 8, MOST_PAYLOAD & 0xff, 4, 2 };

		memcpy(at, mss_and_sack, sizeof(mss_and_sack));
		at += sizeof(mss_and_sack);
	}
	if (end.timestamps || v[0] & 0x02) {
		if (!(v[0] & 0x02)) {
			*at++ = 1;
			*at++ = 1;
		}
		if (end.timestamps) {
			*at++ = 8;
			*at++ = 10;
			at = put32(put32(at, v[5]), v[6] ? v[6] + end.zero_ns / 1000000 : 0);
		} else {
			*at++ = 1;
			*at++ = 1;
		}
	}
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
