/* A request to rtnetlink about a queue discipline. */
#ifndef QDISC_H
#define QDISC_H

#include <linux/rtnetlink.h>
#include <stdint.h>
#include <stddef.h>

struct qdisc_request {
	struct nlmsghdr header;
	struct tcmsg about;
	char attributes[1024];
	int netlink;
};

struct rtattr *put(struct qdisc_request *request, int type, const void *value, size_t size);
void put32(struct qdisc_request *request, int type, double value);

/* `words` are those of the script: what, namespace, device, parent, handle, kind. */
void begin_qdisc(struct qdisc_request *request, char **words, int flags);
void end_qdisc(struct qdisc_request *request, struct rtattr *options, char **words);

#endif
