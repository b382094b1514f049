/* Flows that other programs make, such as iperf3, one at each end: the agent starts and ends them, and reads of their sockets what the kernel
 * says of them. Each has a PID namespace, with which goes all that it has started, and which goes with the agent, by whatever
 * way that ends. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LISTENS_S 10 /* a server listens within so long */
#define UNSEEN_MS 1000 /* how long one has for it whose port nobody knows */
#define LOOK_MS 10 /* how often that is looked at */
#define SIGNALLED 128 /* added to the signal that ended a program, as shells do */
#define GRACE_MS 3000 /* to write what they have to say, when all is over */
#define VIRTUAL_GRACE_MS 10000 /* likewise in virtual time, which costs little: also for clients that end by themselves */
#define LINGER_MS 800 /* for clients elsewhere to say goodbye */
#define PROGRAMS_PATH "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define FILES "/mnt" /* hidden there, and only from the agent and what it starts */

/* Of each namespace that programs run in. */
struct place {
	const char *namespace;
	int diag, events;
};

static struct place *places;
static int n_places;

static struct end *opener_of(struct flow *flow)
{
	return flow->opened_by_to ? &flow->to : &flow->from;
}

static struct end *listener_of(struct flow *flow)
{
	return flow->opened_by_to ? &flow->from : &flow->to;
}

static struct end *end_of(struct script *script, int which)
{
	struct flow *flow = &script->flows[which / 2];

	return which % 2 ? &flow->to : &flow->from;
}

/* BYTES OPENER PORT [udp] [many] [all] */
void read_application(struct flow *flow, char **words)
{
	flow->bytes = least(words[0], -1);
	flow->opened_by_to = !strcmp(words[1], "to");
	flow->listen_port = least(words[2], 0);
	for (words += 3; *words; words++)
		if (!strcmp(*words, "udp"))
			flow->over_udp = 1;
		else if (!strcmp(*words, "many"))
			flow->many = 1;
		else if (!strcmp(*words, "all"))
			flow->all = 1;
		else
			fail("script: application has no option %s", *words);
}

/* A word of a program's, whose characters that a line cannot hold are written as %XX. */
static char *decoded(char *word)
{
	char *from = word, *to = word;
	unsigned int code;

	while (*from)
		if (*from == '%' && sscanf(from + 1, "%2x", &code) == 1) {
			*to++ = code;
			from += 3;
		} else
			*to++ = *from++;
	*to = 0;
	return word;
}

static struct end *end_before(struct script *script, char **words)
{
	struct flow *flow = script->n_flows ? &script->flows[script->n_flows - 1] : NULL;

	if (!flow || flow->traffic != PROGRAMS)
		fail("script: %s belongs to no application", words[0]);
	return strcmp(words[1], "to") ? &flow->from : &flow->to;
}

/* END FILE SIGNAL PROGRAM ARGUMENTS...: of the flow before, as the next three */
void read_program(struct script *script, char **words)
{
	struct end *end = end_before(script, words);
	char **word;

	for (word = words + 4; *word; word++)
		decoded(*word);
	end->program = (struct program){ .out = words[2], .signal = least(words[3], 0), .words = words + 4, .fd = -1 };
}

/* END NAME=VALUE */
void read_environment(struct script *script, char **words)
{
	struct program *program = &end_before(script, words)->program;

	program->environment = grow(program->environment, program->n_environment, sizeof(*program->environment));
	program->environment[program->n_environment++] = decoded(words[2]);
}

/* END FILE MODE NAME */
void read_given(struct script *script, char **words)
{
	struct program *program = &end_before(script, words)->program;

	program->given = grow(program->given, program->n_given, sizeof(*program->given));
	program->given[program->n_given++] = (struct given){ .file = words[2], .mode = strtol(words[3], NULL, 8), .name = decoded(words[4]) };
}

/* END PATTERN */
void read_kept(struct script *script, char **words)
{
	struct program *program = &end_before(script, words)->program;

	program->kept = grow(program->kept, program->n_kept, sizeof(*program->kept));
	program->kept[program->n_kept++] = decoded(words[2]);
}

/* Servers read the files as another user, so that their modes must not depend on the umask. */
static int make_folder(const char *path)
{
	return mkdir(path, 0755) || chmod(path, 0755);
}

/* Without content, which takes no room. */
void make_file(const char *name, int64_t size)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), FILES "/%s", name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0644) || ftruncate(fd, size) || close(fd))
		fail("%s: %s", path, strerror(errno));
}

/* A folder of files that are gone when the agent and all that it has started are. */
void make_files(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", FILES, "tmpfs", MS_NOSUID, "mode=755") || make_folder(FILES "/empty") || make_folder(FILES "/ftp"))
		fail("%s: %s", FILES, strerror(errno));
	make_file("ftp/sink", 0);
	if (mount("/dev/null", FILES "/ftp/sink", NULL, MS_BIND, NULL))
		fail(FILES "/ftp/sink: %s", strerror(errno));
}

static const struct place *place_of(const char *namespace)
{
	int i;

	for (i = 0; i < n_places; i++)
		if (!strcmp(places[i].namespace, namespace))
			return &places[i];
	places = grow(places, n_places, sizeof(*places));
	places[n_places] = (struct place){ namespace, diag_socket(namespace), event_socket(namespace) };
	watch(places[n_places].events, EPOLLIN, SOCKET_GONE, n_places);
	return &places[n_places++];
}

static pid_t main_process;

static void pass_on(int signal)
{
	kill(main_process, signal);
}

/* All that the program has started, and itself: what it has written is still to be taken out. */
static void end_all(int signal)
{
	(void)signal;
	kill(-1, SIGKILL);
}

static void open_files(const struct program *program)
{
	int in = open("/dev/null", O_RDONLY), out, log;

	out = open(program->out, O_CREAT | O_WRONLY | O_TRUNC, 0644);
	log = open("log", O_CREAT | O_WRONLY | O_APPEND, 0644);
	if (in < 0 || out < 0 || log < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(log, 2) < 0)
		_exit(126);
}

static char **environment_of(const struct program *program)
{
	static const char *const of_all[] = { "PATH=" PROGRAMS_PATH, "LC_ALL=C" };
	static const char *const of_confined[] = { "TMPDIR=/tmp", "HOME=" HOME, "USER=nobody", "XDG_RUNTIME_DIR=" HOME };
	char **found = NULL;
	int n = 0, i;

	for (i = 0; i < (int)(sizeof(of_all) / sizeof(*of_all)); i++)
		(found = grow(found, n, sizeof(*found)))[n] = (char *)of_all[i], n++;
	if (!are_confined())
		(found = grow(found, n, sizeof(*found)))[n] = "TMPDIR=.", n++;
	for (i = 0; are_confined() && i < (int)(sizeof(of_confined) / sizeof(*of_confined)); i++)
		(found = grow(found, n, sizeof(*found)))[n] = (char *)of_confined[i], n++;
	for (i = 0; i < program->n_environment; i++)
		(found = grow(found, n, sizeof(*found)))[n] = program->environment[i], n++;
	return grow(found, n, sizeof(*found));
}

/* In the new process, which is the first of its namespace and stays that: what others leave behind comes to the first one, and vsftpd knows
 * only its own children. The agent holds the other end of the lease as long as it lives: if it is dead by now, its death was no signal to this. */
static void become(const struct program *program, int lease)
{
	struct pollfd watched = { .fd = lease };
	int status, folder = -1;
	char **environment;
	pid_t process;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || poll(&watched, 1, 0))
		_exit(126);
	/* 0 is the default, 50 us. */
	prctl(PR_SET_TIMERSLACK, in_real_time ? 0 : 1);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	environment = environment_of(program);
	if (are_confined()) {
		folder = enter_box(program);
		open_box_files();
	} else
		open_files(program);
	/* Nothing of the agent's is to stay open here. */
	if (folder >= 0 && folder != STDERR_FILENO + 1) {
		if (dup3(folder, STDERR_FILENO + 1, O_CLOEXEC) < 0)
			_exit(126);
		folder = STDERR_FILENO + 1;
	}
	if (syscall(SYS_close_range, STDERR_FILENO + 1 + (folder >= 0), ~0U, 0))
		_exit(126);
	main_process = fork();
	if (main_process < 0)
		_exit(126);
	if (!main_process) {
		if (are_confined())
			drop_rights();
		/* Where the program is looked for is the agent's PATH, not the one that it gets. */
		setenv("PATH", PROGRAMS_PATH, 1);
		execvpe(program->words[0], program->words, environment);
		dprintf(STDERR_FILENO, "%s: %s\n", program->words[0], strerror(errno));
		_exit(127);
	}
	signal(SIGTERM, pass_on);
	signal(SIGINT, pass_on);
	signal(SIGUSR1, end_all);
	while ((process = waitpid(-1, &status, 0)) != main_process)
		if (process < 0 && errno != EINTR)
			_exit(126);
	if (folder >= 0) {
		kill(-1, SIGKILL);
		while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
			;
		empty_box(folder, program);
	}
	_exit(WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status));
}

static void start_program(struct script *script, int which)
{
	struct end *end = end_of(script, which);
	struct program *program = &end->program;
	int lease[2];

	if (!program->words)
		fail("script: an end of flow %d has no program", which / 2);
	enter_namespace(end->namespace);
	if (pipe2(lease, O_CLOEXEC))
		fail("pipe: %s", strerror(errno));
	program->pid = syscall(SYS_clone, CLONE_NEWPID | (are_confined() ? CLONE_NEWNS : 0) | SIGCHLD, NULL, NULL, NULL, 0);
	if (program->pid < 0)
		fail("%s: %s", program->words[0], strerror(errno));
	if (!program->pid) {
		close(lease[1]);
		become(program, lease[0]);
	}
	close(lease[0]);
	program->fd = syscall(SYS_pidfd_open, program->pid, 0);
	if (program->fd < 0)
		fail("%s: %s", program->words[0], strerror(errno));
	/* The lease stays open: nobody reads from it. */
	watch(program->fd, EPOLLIN, PROGRAM_ENDED, which);
}

/* False if the client needs none: a kernel answers pings. */
static int has_server(struct flow *flow)
{
	return listener_of(flow)->program.words || !flow->many;
}

/* Before time 0: those that are connected to have begun to listen. */
void start_servers(struct script *script)
{
	int i, looks;

	for (i = 0; i < script->n_flows; i++) {
		struct flow *flow = &script->flows[i];
		struct end *server = listener_of(flow);

		if (flow->traffic != PROGRAMS)
			continue;
		if (is_here(opener_of(flow)))
			place_of(opener_of(flow)->namespace);
		if (!is_here(server) || !has_server(flow))
			continue;
		place_of(server->namespace);
		start_program(script, 2 * i + (server == &flow->to));
	}
	for (i = 0; i < script->n_flows; i++) {
		struct flow *flow = &script->flows[i];
		struct end *server = listener_of(flow);

		if (flow->traffic != PROGRAMS || !is_here(server) || !has_server(flow))
			continue;
		if (!flow->listen_port) {
			usleep(UNSEEN_MS * 1000);
			continue;
		}
		for (looks = 0; !is_listening(place_of(server->namespace)->diag, flow->listen_port, flow->over_udp); looks++) {
			if (waitpid(server->program.pid, NULL, WNOHANG))
				fail("%s of flow %d ended before it listened; see the log", server->program.words[0], i);
			if (looks == LISTENS_S * 1000 / LOOK_MS)
				fail("%s of flow %d does not listen on port %d", server->program.words[0], i, flow->listen_port);
			usleep(LOOK_MS * 1000);
		}
	}
}

void start_client(struct script *script, int i)
{
	struct flow *flow = &script->flows[i];

	flow->state = ACTIVE;
	if (is_here(opener_of(flow)))
		start_program(script, 2 * i + flow->opened_by_to);
}

/* A FIN counts as a byte that has come. The last byte of a sized transfer came as long ago as the kernel says, in its ticks. */
static void take(const struct script *script, struct flow *flow, struct end *end, const struct seen *seen)
{
	uint64_t received;

	if (!seen->has_info)
		return;
	end->info = seen->info;
	memcpy(end->control, seen->control, sizeof(end->control));
	end->control_size = seen->control_size;
	received = end->info.tcpi_bytes_received;
	if (received && seen->is_closing)
		received--;
	if (end == &flow->to && flow->bytes >= 0 && received > end->received && received >= (uint64_t)flow->bytes)
		flow->completed_ns = since_epoch(script) - end->info.tcpi_last_data_recv * INT64_C(1000000);
	end->received = received;
}

static void add(struct tally *tally, const struct seen *seen)
{
	uint64_t received = seen->info.tcpi_bytes_received;

	tally->received += received && seen->is_closing ? received - 1 : received;
	tally->sent_packets += seen->info.tcpi_segs_out;
	tally->arrived_packets += seen->info.tcpi_segs_in;
	tally->delivered += seen->info.tcpi_delivered;
	tally->delivered_ce += seen->info.tcpi_delivered_ce;
	tally->retransmits += seen->info.tcpi_total_retrans;
}

/* The sockets that an end of a flow has now, and the one that has brought the most. */
struct looking {
	const struct flow *flow;
	struct tally tally;
	struct seen main;
};

/* One of whose ports is that of the flow's server, if this has one alone. */
static int is_one_of_many(const struct flow *flow, const struct seen *seen)
{
	return flow->all || !flow->listen_port || seen->local == flow->listen_port || seen->remote == flow->listen_port;
}

static uint64_t moved(const struct seen *seen)
{
	return seen->info.tcpi_bytes_acked + seen->info.tcpi_bytes_received;
}

static void look(const struct seen *seen, void *context)
{
	struct looking *looking = context;

	if (!seen->has_info || !is_one_of_many(looking->flow, seen))
		return;
	add(&looking->tally, seen);
	if (!looking->main.has_info || moved(seen) > moved(&looking->main))
		looking->main = *seen;
}

/* Of many sockets the numbers that grow are sums, with those of sockets that are gone; the others are those of the one that has brought most. */
static void read_many(struct flow *flow, struct end *end, const struct end *other)
{
	struct looking looking = { .flow = flow, .tally = end->program.gone };
	const struct tally *tally = &looking.tally;

	if (!is_here(end))
		return;
	look_at_all(place_of(end->namespace)->diag, end, other, look, &looking);
	if (looking.main.has_info) {
		end->info = looking.main.info;
		memcpy(end->control, looking.main.control, sizeof(end->control));
		end->control_size = looking.main.control_size;
	}
	end->received = tally->received;
	end->info.tcpi_segs_out = tally->sent_packets;
	end->info.tcpi_segs_in = tally->arrived_packets;
	end->info.tcpi_delivered = tally->delivered;
	end->info.tcpi_delivered_ce = tally->delivered_ce;
	end->info.tcpi_total_retrans = tally->retransmits;
}

static void read_end(const struct script *script, struct flow *flow, struct end *end, struct end *other)
{
	struct seen seen;

	if (flow->many) {
		read_many(flow, end, other);
		return;
	}
	if (!is_here(end) || end->program.socket_gone)
		return;
	seen = look_up(place_of(end->namespace)->diag, end, other);
	if (!seen.is_there)
		return;
	end->port = seen.local;
	other->port = seen.remote;
	take(script, flow, end, &seen);
}

void read_ends(const struct script *script, struct flow *flow)
{
	if (flow->state != ACTIVE)
		return;
	read_end(script, flow, &flow->from, &flow->to);
	read_end(script, flow, &flow->to, &flow->from);
}

static int is_socket_of(const struct flow *flow, const struct seen *seen, const struct end *end, const struct end *other)
{
	if (flow->many)
		return seen->local_address == end->address && seen->remote_address == other->address && is_one_of_many(flow, seen);
	return (!end->port || end->port == seen->local) && (!other->port || other->port == seen->remote);
}

/* Sockets are gone: what the kernel says of them is what their connections came to. */
void note_gone(struct script *script, int socket)
{
	struct seen seen;
	int which;

	while (next_gone(places[socket].events, &seen))
		for (which = 0; seen.is_there && which < 2 * script->n_flows; which++) {
			struct flow *flow = &script->flows[which / 2];
			struct end *end = end_of(script, which), *other = end_of(script, which ^ 1);

			if (flow->traffic != PROGRAMS || strcmp(end->namespace, places[socket].namespace) || flow->state != ACTIVE ||
			    end->program.socket_gone || !is_socket_of(flow, &seen, end, other))
				continue;
			if (flow->many) {
				if (seen.has_info)
					add(&end->program.gone, &seen);
				continue;
			}
			take(script, flow, end, &seen);
			end->program.socket_gone = 1;
		}
}

static int reap(struct program *program)
{
	int status;

	if (waitpid(program->pid, &status, 0) != program->pid)
		fail("%s: %s", program->words[0], strerror(errno));
	close(program->fd);
	program->pid = 0;
	return status;
}

static int as_shells_say(int status)
{
	return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

/* One that is not told to ends when its transfer is complete, and well. In virtual time it would do the same again: how it ended is a result. */
void program_ended(struct script *script, int which)
{
	struct flow *flow = &script->flows[which / 2];
	struct program *program = &end_of(script, which)->program;
	int status = as_shells_say(reap(program));

	if (flow->state == STOPPED)
		return;
	if (!in_real_time) {
		program->has_ended = 1;
		program->status = status;
		program->ended_ns = since_epoch(script);
	} else if (status || flow->bytes < 0)
		fail("%s of flow %d ended early, with status %d; see the log", program->words[0], which / 2, status);
}

/* One that only dies by force is left alone until all is over: it would take the others' last words with it. */
static void tell_to_end(const struct program *program)
{
	if (program->pid && program->signal && program->signal != SIGKILL)
		kill(program->pid, program->signal);
}

/* The numbers stay as they are now. */
void stop_programs(struct flow *flow)
{
	flow->state = STOPPED;
	tell_to_end(&flow->from.program);
	tell_to_end(&flow->to.program);
}

/* Waits for a program, for at most `left_ms` of those of all. */
static void await(const struct program *program, int *left_ms)
{
	struct pollfd watched = { .fd = program->fd, .events = POLLIN };

	for (; program->pid && *left_ms > 0 && !poll(&watched, 1, LOOK_MS); *left_ms -= LOOK_MS)
		;
}

/* What still runs has had its time: a confined one takes out what it has written. */
static void end_by_force(struct program *program)
{
	int left_ms = GRACE_MS;

	if (!program->pid)
		return;
	if (are_confined()) {
		kill(program->pid, SIGUSR1);
		await(program, &left_ms);
	}
	kill(program->pid, SIGKILL);
	reap(program);
}

/* Their clients are gone: some end by themselves, others when they are told to. */
static void end_servers(struct script *script)
{
	int which, left = LINGER_MS;

	for (which = 0; which < 2 * script->n_flows; which++)
		await(&end_of(script, which)->program, &left);
	for (which = 0; which < 2 * script->n_flows; which++)
		if (end_of(script, which)->program.pid)
			kill(end_of(script, which)->program.pid, SIGTERM);
	left = LINGER_MS;
	for (which = 0; which < 2 * script->n_flows; which++)
		await(&end_of(script, which)->program, &left);
}

/* When the run is over: all that still run are told to end, and killed after a while. Servers whose clients are on other machines answer to
 * what those say at last. */
void end_programs(struct script *script)
{
	int which, left = in_real_time ? GRACE_MS : VIRTUAL_GRACE_MS, lingers = 0;

	for (which = 0; which < 2 * script->n_flows; which++)
		if (script->flows[which / 2].traffic == PROGRAMS)
			stop_programs(&script->flows[which / 2]);
	for (which = 0; which < 2 * script->n_flows; which++) {
		const struct program *program = &end_of(script, which)->program;

		if (program->signal != SIGKILL)
			await(program, &left);
		lingers |= program->pid && program->signal == SIGKILL && !is_here(end_of(script, which ^ 1));
	}
	if (lingers)
		usleep(LINGER_MS * 1000);
	if (!in_real_time)
		end_servers(script);
	for (which = 0; which < 2 * script->n_flows; which++)
		end_by_force(&end_of(script, which)->program);
}
