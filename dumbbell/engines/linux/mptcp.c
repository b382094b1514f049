/* socket(2) of a program whose flow has `transport: mptcp`: where it asks for TCP it gets MPTCP (RFC 8684). The program's own library is
 * preloaded with this one (ld.so(8), LD_PRELOAD). A program that asks for MPTCP itself is not changed. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int socket(int domain, int type, int protocol)
{
	int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);

	if ((domain == AF_INET || domain == AF_INET6) && kind == SOCK_STREAM && (!protocol || protocol == IPPROTO_TCP))
		protocol = IPPROTO_MPTCP;
	return syscall(SYS_socket, domain, type, protocol);
}
