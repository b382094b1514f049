/* The agent: traffic generator and sampler in one, as first process of a guest or as a program on a machine in real time (realtime.c).
 * README.md has the language of its script.
 *
 * main.c reads and carries out the script, setup.c makes namespaces and settings, traffic.c handles events, loop.c waits for them, socket.c is what all
 * sockets share; bulk.c, datagrams.c and transfers.c are kinds of traffic, session.c is that of applications over connections that stay
 * open: exchange.c, onoff.c, page.c, streaming.c, and program.c is that of other programs, which confine.c keeps from doing harm and whose sockets
 * diag.c asks the kernel of; sample.c reads TCP_INFO and the queues, state.c what congestion controls and disciplines tell of themselves, count.c writes what they come to, capture.c
 * writes packets. */
#ifndef AGENT_H
#define AGENT_H

#define _GNU_SOURCE
#include <linux/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#define ERROR_FILE "error"

#define MOST_CONTROL 128 /* bytes that a congestion control tells; 20 in Linux 6.12, and more where a patch lets others tell something */

/* What TCP sockets came to together. */
struct tally {
	uint64_t received, sent_packets, arrived_packets, delivered, delivered_ce, retransmits;
};

/* A file of the run's folder that a program finds in its home. */
struct given {
	const char *file, *name;
	int mode;
};

/* A program that makes the traffic of an end. Wide because it has what the script's lines say of it, beside its process and its sockets. */
struct program {
	const char *out; /* the file of its standard output */
	int signal; /* what ends it when the flow does; 0: nothing, it ends by itself */
	char **words;
	char **environment; /* of its own, NAME=VALUE */
	int n_environment;
	struct given *given;
	int n_given;
	char **kept; /* patterns of the files in its home that the run keeps */
	int n_kept;
	pid_t pid; /* 0: it does not run */
	int fd; /* of the process */
	int has_ended, status; /* by itself, with that as a shell says it */
	int64_t ended_ns;
	int socket_gone; /* and what was read last stays */
	struct tally gone; /* of a flow with many sockets: what those that are gone came to */
};

/* What a request to another machine begins with: its size and that of the response. */
struct note {
	uint64_t request, response;
};

/* A note that is sent or received. */
struct noted {
	struct note note;
	size_t done; /* bytes of it so far */
};

/* What the guest's kernel may do with a socket without asking, when there is something to read or room to write: loop.c. */
enum errand { NONE, READ, COUNT, WRITE, WRITE_ONCE, READ_IN_TURNS, SEND_IN_TURNS };

/* One end of a flow. Of a TCP connection both ends may send and receive. */
struct end {
	struct { /* as the guest's kernel knows it: struct errand of 07-errands.patch of the engine kernel */
		int fd; /* its socket; -1 before it is open and after it is closed */
		enum errand errand;
		uint64_t sent, received; /* bytes given to and taken from the socket; datagrams of a stream */
		uint64_t until; /* the agent sees to it when so much is read or sent */
		int64_t result; /* of the call that the kernel has made, and to which the agent has to see */
		uint64_t has_result;
		int64_t waits_since_ns, waited_ns; /* for room in its send buffer, with nothing left in it to send; since when (0: not now), and how long before */
		int turn_fd; /* the timer of what it does in turns */
		uint32_t payload; /* of the datagram of a turn */
		uint64_t turns, reads_bps; /* turns that it has read in so far, and its rate; 0: it reads all that there is */
	};
	const char *namespace; /* - is another machine */
	uint32_t address; /* network byte order */
	uint16_t port; /* host byte order */
	uint64_t due; /* bytes that an application has written so far */
	uint64_t awaited; /* bytes received when it has something to do; 0 or less than there are: with each that come */
	struct noted *writes, *reads; /* notes in what it sends and receives; NULL: there are none */
	struct tcp_info info; /* as last read */
	char control[MOST_CONTROL]; /* what its congestion control tells, likewise */
	uint32_t control_size;
	int closed_fd; /* the socket of an end that the agent has closed; 0: none */
	struct program program; /* whose socket it is, if it is not the agent's: none without words */
};

enum traffic { BULK, SESSION, DATAGRAMS, TRANSFERS, PROGRAMS };
enum state { WAITING, ACTIVE, CLOSING, STOPPED }; /* CLOSING: `from` has sent its FIN */

/* When a datagram was sent, reached the other end and was back; -1 if it did not. */
struct times {
	int64_t sent_ns, there_ns, back_ns;
};

/* What is particular to datagrams. */
struct datagrams {
	int icmp; /* echo requests, which the kernel answers */
	int reply; /* the other end sends them back */
	int measured; /* their times are kept */
	int64_t interval_ns;
	int payload; /* of the next datagram */
	int64_t count; /* most; -1: no limit */
	FILE *list; /* times and payloads, instead of interval and payload */
	int64_t next_ns; /* of the list */
	struct times *times;
	int64_t n, room; /* times that are kept, and for how many there is memory */
};

/* A TCP connection or a stream of datagrams. Wide because it has what the script's line says of any kind of traffic, beside the state of the
 * flow. */
struct flow {
	enum traffic traffic;
	enum state state;
	struct end from, to; /* sender and receiver, or client and server */
	int opened_by_to; /* `to` connects and `from` listens */
	int nodelay;
	uint64_t max_pacing_rate; /* bytes/s; 0: none */
	int closes; /* the connection ends with FINs when all is sent */
	uint16_t listen_port; /* of other programs: what the server listens on from the start; 0: nothing */
	int over_udp; /* it does so with UDP */
	int many; /* the programs have any number of sockets, from any port */
	int all; /* and to any: all TCP between the two hosts is theirs */
	const char *cc;
	int sndbuf, rcvbuf; /* as given to setsockopt; 0: auto-tuned */
	int mss; /* likewise; 0: what the device carries */
	int dscp;
	int ecn;
	int64_t start_ns, stop_ns;
	int64_t bytes; /* to send; -1: no end */
	const struct application *application; /* of a session */
	void *own; /* what is particular to that */
	int connected; /* `from` can write */
	int64_t done; /* what the application has waited for and is over */
	FILE *transactions;
	struct datagrams datagrams;
	int listen_fd, timer_fd;
	int64_t completed_ns, closed_ns; /* all data read; both ends closed. -1: not yet */
	FILE *series, *states;
};

/* Bytes in memory. */
struct bytes {
	char *data;
	size_t size, room;
};

/* A device with a queue discipline. */
struct port {
	const char *name; /* in the results */
	const char *namespace, *device;
	int netlink; /* a socket in its namespace */
	int sampled;
	int index; /* of the device */
	uint32_t leaf; /* major number of the qdisc whose marks count */
	double qlen, backlog, drops, marks, sce_marks, packets, bytes;
	struct bytes statistics, classes; /* what that qdisc tells of itself, and its classes */
	int has_classes; /* its flows are classes */
	FILE *series, *states;
};

/* A filter at a host that all packets of a flow pass that leave it, or that come to it. */
struct passing {
	int flow;
	const char *end; /* from or to */
	const char *namespace, *device;
	int is_out;
	uint32_t priority; /* of the filter */
};

/* A device whose filters hand packets on. */
struct hop {
	const char *device;
};

/* A program that is run at a time of the run. */
struct command {
	int64_t at_ns; /* of those for the end: not set */
	char **words;
};

/* Packets seen by a host, or by somebody on the path. */
struct capture {
	const char *namespace;
	const char *name; /* of the file */
	char **devices; /* and a null; none at a host */
	int fd;
	FILE *file;
};

/* What the lines of the script have described so far. Wide because there is a list with its length for each kind of line. */
struct script {
	struct flow *flows;
	int n_flows;
	struct port *ports;
	int n_ports;
	struct hop *hops;
	int n_hops;
	struct passing *passings;
	int n_passings;
	struct command *commands;
	int n_commands;
	struct command *at_end; /* in real time: what stops all that is sent */
	int n_at_end;
	struct capture *captures;
	int n_captures;
	const char *ports_namespace; /* of hops, and of ports that are on no host */
	int netlink; /* a socket there */
	int64_t sample_ns, duration_ns;
	int senders_states, queues_states; /* their states are sampled, too */
	struct timespec epoch; /* the run's time 0 on CLOCK_MONOTONIC */
	struct timespec zero; /* the same on CLOCK_REALTIME */
};

/* main.c */
void carry_out_script(struct script *script);
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *grow(void *list, int count, size_t size);
int64_t least(const char *word, int64_t least);
void *reserve(void *list, size_t size);

/* realtime.c */
extern int in_real_time, has_folder;
int run_on_machine(int argc, char **argv);
int64_t agree_on_epoch(void);
extern int is_finished;
void tell(const char *word);
void watch_lease(void);
void check_lease(void);
void hear(void);

/* setup.c */
void remember_initial_namespace(void);
void make_namespace(const char *name);
void enter_namespace(const char *name);
void set_offload(const char *namespace, const char *device, const char *mode);
void write_sysctl(const char *namespace, const char *key, char **values, int n, int must);
void run_program(char **words);

/* traffic.c */
enum event {
	SAMPLE, START, STOP, LISTEN, FROM, TO, TIMER, COMMAND, CAPTURE, END,
	TRANSFER_DUE, TRANSFER_LISTEN, TRANSFER_FROM, TRANSFER_TO, /* of connections that come and go */
	LEASE, LEASE_CHECK, EMPTY_CHECK, /* in real time */
	SOCKET_GONE, PROGRAM_ENDED /* likewise, of other programs */
};
struct timespec after(struct timespec from, int64_t ns);
int make_timer(const struct script *script, int64_t at_ns, int64_t interval_ns);
void look_again(void);
void run_traffic(struct script *script);
int64_t since_epoch(const struct script *script);

/* loop.c */
struct epoll_event;
#define MOST_EVENTS 64
void open_loop(void);
void watch(int fd, uint32_t events, enum event event, int index);
void watch_end(struct end *end, uint32_t events, enum event event, int index);
void watch_turns(struct end *end, int timer_fd, int index);
void change_watch(int fd, uint32_t events, enum event event, int index);
void unwatch(int fd);
int next_events(struct epoll_event *events, int *first);
enum event event_of(const struct epoll_event *event);
int index_of(const struct epoll_event *event);

/* socket.c */
#define OVER (-1)
#define READ_MOST (1 << 20) /* most bytes per recv() */
void abort_connections(void);
void make_sockets(struct script *script);
int is_here(const struct end *end);
int make_socket(const struct flow *flow, const struct end *end);
void connect_to(const struct end *opener, const struct end *listener);
void accept_from(struct flow *flow, struct end *listener);
ssize_t receive_rest(struct end *end, size_t most);
int64_t send_bytes(struct end *end, uint64_t most);
int64_t receive_bytes(struct end *end, uint64_t most);
int64_t waited_for_room(const struct end *end);
void end_waiting(struct end *end);
void read_info(struct end *end);
void send_fin(const struct end *end);
void read_last_packets(struct end *end);
void close_end(const struct script *script, struct flow *flow, struct end *at);

/* bulk.c */
void start_bulk(struct script *script, int i);
void accept_bulk(struct script *script, int i);
void handle_bulk_from(struct script *script, int i);
void handle_bulk_to(struct script *script, int i);
void read_at_rate(struct script *script, int i);
void stop_bulk(struct flow *flow);

/* session.c */
struct amount {
	int64_t fixed;
	FILE *draws; /* NULL: fixed */
	const char *name; /* of that file */
};
struct requests {
	int64_t asked, answered; /* bytes of all requests so far, and of all responses to them */
	int64_t owed; /* of the response that the server has not begun to write */
};
struct application {
	const char *name; /* first word of its line */
	int words; /* how many it has beside those of all sessions */
	int from_is_source; /* the data that matter are those of `from` */
	void (*read_words)(struct script *script, int i, char **words);
	void (*start)(struct script *script, int i); /* the opener calls connect(); may be NULL */
	void (*connected)(struct script *script, int i); /* `from` can write */
	void (*read)(struct script *script, int i, struct end *end); /* an end has read more */
	void (*timer)(struct script *script, int i);
	/* Of a server whose client is on another machine: the sizes of the request that has begun to come, and of its response. False if they are
	 * not known yet. */
	int (*expect)(struct script *script, int i, int64_t *request, int64_t *response);
};
extern const struct application exchange, onoff, page, streaming;
struct amount read_amount(const char *word, int64_t at_least);
int64_t next_amount(struct amount *amount);
void write_bytes(struct script *script, int i, struct end *end, int64_t bytes);
void wake_at(const struct script *script, const struct flow *flow, int64_t at_ns);
void wake_in(const struct flow *flow, int64_t ns);
void finish(struct flow *flow);
void ask(struct script *script, int i, struct requests *requests, int64_t request, int64_t response);
int take_read(struct script *script, int i, struct requests *requests, const struct end *end);
void note_transaction(struct flow *flow, int64_t begin_ns, int64_t end_ns);
void start_session(struct script *script, int i);
void accept_session(struct script *script, int i);
void handle_session_from(struct script *script, int i);
void handle_session_to(struct script *script, int i);
void handle_session_timer(struct script *script, int i);
void stop_session(struct flow *flow);

/* datagrams.c */
void start_datagrams(struct script *script, int i);
void send_datagrams(struct script *script, int i);
void receive_datagram(struct script *script, int i);
void receive_reply(struct script *script, int i);
void stop_datagrams(struct flow *flow);
void set_echo_filter(int fd);
int queues_are_empty(struct script *script);
void drain(struct script *script);

/* transfers.c */
void read_transfers(const struct flow *like, const char *list, const char *came);
void make_transfers(void);
void arm_transfers(struct script *script);
void transfer_is_due(struct script *script, int group);
void accept_transfer(int listener);
void handle_transfer_from(int number);
void handle_transfer_to(struct script *script, int number);
void write_transfers(void);

/* capture.c */
void open_capture(struct capture *capture);
void drain_capture(struct capture *capture, struct timespec zero);
void close_capture(struct capture *capture, struct timespec zero);

/* netlink.c */
struct nlmsghdr;
struct rtattr;
typedef void (*reader)(const struct nlmsghdr *message, void *context);
int open_netlink(const char *namespace);
void dump(int netlink, int type, int index, uint32_t parent, reader read, void *context);
const struct rtattr *find(const void *from, int left, int type);
void *payload(const struct rtattr *attribute, void *to, size_t size);
uint64_t count_packets(const struct rtattr *stats);

/* qdisc.c, dualpi2.c, which share qdisc.h */
void add_dualpi2(char **words, int n);
void set_qdisc(char **words, int n);

/* program.c */
void read_application(struct flow *flow, char **words);
void read_program(struct script *script, char **words);
void read_environment(struct script *script, char **words);
void read_given(struct script *script, char **words);
void read_kept(struct script *script, char **words);
void make_file(const char *name, int64_t size);
void make_files(void);
void start_servers(struct script *script);
void start_client(struct script *script, int i);
void read_ends(const struct script *script, struct flow *flow);
void note_gone(struct script *script, int socket);
void program_ended(struct script *script, int which);
void stop_programs(struct flow *flow);
void end_programs(struct script *script);

/* confine.c */
#define HOME "/run/home"
void confine_programs(int64_t bytes);
int are_confined(void);
int enter_box(const struct program *program);
void open_box_files(void);
void drop_rights(void);
void empty_box(int folder, const struct program *program);

/* diag.c */
struct seen {
	uint16_t local, remote; /* ports */
	uint32_t local_address, remote_address; /* network byte order */
	int is_there, has_info, is_closing; /* is_closing: it is past the other end's FIN, or closed */
	struct tcp_info info;
	char control[MOST_CONTROL];
	uint32_t control_size;
};
int diag_socket(const char *namespace);
int event_socket(const char *namespace);
int is_listening(int diag, uint16_t port, int over_udp);
struct seen look_up(int diag, const struct end *end, const struct end *other);
typedef void (*seer)(const struct seen *seen, void *context);
void look_at_all(int diag, const struct end *end, const struct end *other, seer see, void *context);
int next_gone(int events, struct seen *seen);

/* sample.c */
void open_series(struct script *script);
void read_sender(struct flow *flow);
void sample_flows(struct script *script, int64_t t_ns);
void sample_ports(struct script *script, int64_t t_ns);
void read_qdiscs(struct script *script);
void close_series(struct script *script);

/* state.c */
void write_sender_state(struct flow *flow, int64_t t_ns);
void keep_statistics(struct port *port, const struct rtattr *app);
void write_queue_state(struct port *port, int64_t t_ns);

/* machine.c; without open_machine the others do nothing */
void open_machine(void);
void sample_machine(int64_t t_ns);
void close_machine(void);

/* count.c */
void count_flows(struct script *script);
void count_ports(struct script *script);

#endif
