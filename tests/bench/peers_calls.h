/* SPDX-License-Identifier: BSD-2-Clause */
/* What peers_calls.bpf.c counts, by cgroup. */
#ifndef PEERS_CALLS_H
#define PEERS_CALLS_H

#include <linux/types.h>

#define PEERS_CALLS(X)                                                                             \
	X(READ, read)                                                                              \
	X(WRITE, write)                                                                            \
	X(OPEN, open)                                                                              \
	X(CREATE, create)                                                                          \
	X(UNLINK, unlink)                                                                          \
	X(TCP_RECEIVED, tcp_received)                                                              \
	X(TCP_SENT, tcp_sent)                                                                      \
	X(UDP_RECEIVED, udp_received)                                                              \
	X(UDP_SENT, udp_sent)

enum peers_call {
#define X(call, name) PEERS_##call,
	PEERS_CALLS(X)
#undef X
};

struct peers_key {
	__u64 cgroup;
	__u64 call; /* enum peers_call */
};

struct peers_sum {
	__u64 calls, errors, bytes;
};

#endif
