/* Drives one end of TCP connections of the guest's kernel, packet by packet: the application's calls on a socket, and the packets of its peer
 * through a packet socket at the other end of a veth pair, all at exact times. Each connection is a case; cases follow one another.
 *
 * Arguments: the namespace of the peer, the file of the cases, the file of the answers. Times are ns from the beginning of the case. The lines
 * of a case:
 *
 *   case NUMBER CC ECN DEVICE NODELAY RCVBUF SNDBUF READS OPENS    begins it; READS and OPENS are 0 or 1
 *   open TIME, write TIME BYTES, read TIME BYTES, close TIME,
 *   abort TIME, stop TIME (reading), quit TIME                     what the application does
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
/* main.c reads the cases and is their application, packets.c sends the peer's packets and writes the end's. */
#ifndef DRIVER_H
#define DRIVER_H

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#define SECOND 1000000000LL
#define END_PORT 2000

/* One of the pairs of devices: with and without TSO. */
struct device {
	const char *address; /* of the end; that of the peer is one more */
	int fd, sender; /* packet sockets at the peer's device */
	unsigned char *ring; /* frames that the latter sends */
	int next;
};

/* The connection of the case in hand. Wide because it has the application's state beside the numbers of both ends. */
struct end {
	struct device *device;
	int64_t zero_ns, real_ns; /* its beginning, monotonic and real */
	int listener, fd; /* -1: none */
	int connected, reads_at_rate, knows_isn, timestamps;
	int is_read_up; /* the last turn to read found nothing, and no other action came since */
	uint64_t pending; /* bytes to write */
	int waits; /* not all of that was taken */
	int has_read_all, closes, has_closed, stops; /* reading */
	uint32_t isn;
	uint16_t port;
};

extern struct end end;
extern FILE *answers;

void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void set(int fd, int level, int option, const void *value, socklen_t size);

/* Makes the packet sockets at the peer's end of a pair of devices. */
void open_device(struct device *device, int number);

/* Writes what the end has sent so far. */
void look(void);

/* Sends the packet of the peer that the words describe. */
void inject(char *words);

#endif
