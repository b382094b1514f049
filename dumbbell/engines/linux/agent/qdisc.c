/* Queue disciplines that the agent makes or changes by rtnetlink, because a tc that is older than the kernel of the guest does not know their words. */
#include "agent.h"
#include "qdisc.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CAKE_SCE 32 /* TCA_CAKE_SCE of the kernel's patch sce/02-cake */

struct rtattr *put(struct qdisc_request *request, int type, const void *value, size_t size)
{
	struct rtattr *attribute = (void *)((char *)request + NLMSG_ALIGN(request->header.nlmsg_len));

	if (NLMSG_ALIGN(request->header.nlmsg_len) + RTA_SPACE(size) > offsetof(struct qdisc_request, netlink))
		fail("qdisc: too many words");
	attribute->rta_type = type;
	attribute->rta_len = RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(attribute), value, size);
	request->header.nlmsg_len = NLMSG_ALIGN(request->header.nlmsg_len) + RTA_SPACE(size);
	return attribute;
}

void put32(struct qdisc_request *request, int type, double value)
{
	uint32_t number = value + 0.5; /* products of decimal fractions are a little off */

	put(request, type, &number, sizeof(number));
}

static uint32_t handle(const char *word)
{
	char *rest;
	uint32_t major = strtoul(word, &rest, 16);

	if (!strcmp(word, "root"))
		return TC_H_ROOT;
	if (*rest != ':')
		fail("qdisc: %s is no handle", word);
	return TC_H_MAKE(major << 16, strtoul(rest + 1, NULL, 16));
}

void begin_qdisc(struct qdisc_request *request, char **words, int flags)
{
	memset(request, 0, sizeof(*request));
	request->netlink = open_netlink(words[1]);
	request->header.nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg));
	request->header.nlmsg_type = RTM_NEWQDISC;
	request->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	request->about.tcm_family = AF_UNSPEC;
	request->about.tcm_parent = handle(words[3]);
	request->about.tcm_handle = handle(words[4]);
	request->about.tcm_ifindex = if_nametoindex(words[2]);
	if (!request->about.tcm_ifindex)
		fail("qdisc %s: device %s is not there", words[5], words[2]);
	put(request, TCA_KIND, words[5], strlen(words[5]) + 1);
}

void end_qdisc(struct qdisc_request *request, struct rtattr *options, char **words)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[sizeof(request->attributes)];
	} answer;
	ssize_t size;

	options->rta_len = (char *)&request->header + request->header.nlmsg_len - (char *)options;
	if (send(request->netlink, &request->header, request->header.nlmsg_len, 0) < 0)
		fail("qdisc %s: %s", words[5], strerror(errno));
	size = recv(request->netlink, &answer, sizeof(answer), 0);
	if (size < (ssize_t)NLMSG_LENGTH(sizeof(answer.error)) || answer.header.nlmsg_type != NLMSG_ERROR)
		fail("qdisc %s: no answer", words[5]);
	if (answer.error.error == -ENOENT)
		fail("qdisc %s: this kernel has no such queue discipline", words[5]);
	if (answer.error.error)
		fail("qdisc %s: the kernel refuses it: %s", words[5], strerror(-answer.error.error));
	close(request->netlink);
}

/* Sets the SCE ramp of a cake that is there. */
static void change_cake(char **words, int n)
{
	struct qdisc_request request;
	struct rtattr *options;

	if (n != 8 || strcmp(words[6], "sce"))
		fail("qdisc cake: only sce is changed without tc");
	begin_qdisc(&request, words, 0);
	options = put(&request, TCA_OPTIONS | NLA_F_NESTED, NULL, 0);
	put32(&request, CAKE_SCE, strtoul(words[7], NULL, 10));
	end_qdisc(&request, options, words);
}

/* Words: what, namespace, device, parent, handle, kind, words of tc. */
void set_qdisc(char **words, int n)
{
	if (!strcmp(words[5], "dualpi2"))
		add_dualpi2(words, n);
	else if (!strcmp(words[5], "cake"))
		change_cake(words, n);
	else
		fail("qdisc %s: only dualpi2 and cake are made without tc", words[5]);
}
