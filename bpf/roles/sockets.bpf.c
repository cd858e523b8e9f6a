// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bytes that the tasks of each job send and receive: many jobs only. The kernel reports the result
 * of each call, whatever its kind. */
#include "bpf/roles/hooks.bpf.h"

/* NET_NR: another protocol. */
static __always_inline __u32 net_kind(struct sock *sk)
{
	__u32 family = TYPED(sk, __sk_common.skc_family), protocol = TYPED(sk, sk_protocol);

	if ((family != AF_INET && family != AF_INET6) ||
	    (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP))
		return NET_NR;
	return (protocol == IPPROTO_TCP ? NET_TCP4 : NET_UDP4) + (family == AF_INET6);
}

static __always_inline int net_charge(struct live *l, __u32 kind, __u32 bytes, bool sent)
{
	__u32 slot = own_slot(l->s.job);
	struct job_row *job;

	if (l->s.job == JOB_OTHERS || kind >= NET_NR)
		return 0;
	job = bpf_map_lookup_elem(&jobs, &slot);
	if (!job)
		return 0;
	if (sent)
		job->net[kind].sent_bytes += bytes;
	else
		job->net[kind].received_bytes += bytes;
	return 0;
}

SEC("?tp_btf/sock_send_length")
int BPF_PROG(sock_send_tp, struct sock *sk, int ret, int flags)
{
	if (!many_jobs() || ret <= 0)
		return 0;
	return WITH_LIVE(l, EV_SOCKET, net_charge(l, net_kind(sk), ret, true));
}

SEC("?tp_btf/sock_recv_length")
int BPF_PROG(sock_recv_tp, struct sock *sk, int ret, int flags)
{
	/* Peeked bytes stay in the socket. */
	if (!many_jobs() || ret <= 0 || flags & MSG_PEEK)
		return 0;
	return WITH_LIVE(l, EV_SOCKET, net_charge(l, net_kind(sk), ret, false));
}
