/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts calls by function as the exporter of CEEMS does, for tests/bench/peers_calls.py. Each
 * program takes the result from the place that the exporter's declared prototype gives it, so it
 * makes the same mistakes. It is written from these prototypes (0.10.2), for Linux 6.2 and later;
 * those for 6.1 have as many arguments.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "peers_calls.h"

enum { CONNECTIONS = 2048 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct super_block {
	__u32 s_dev;
};
struct inode {
	struct super_block *i_sb;
};
struct file {
	struct inode *f_inode;
};
struct sock_common {
	__u32 skc_daddr, skc_rcv_saddr;
	__u16 skc_dport, skc_num;
};
struct sock {
	struct sock_common __sk_common;
};
struct inet_sock {
	__u16 inet_sport;
};
struct tcp_sock {
	__u64 bytes_received, bytes_sent;
};
#pragma clang attribute pop

const volatile __u32 device; /* of the files whose reads and writes count */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct peers_key);
	__type(value, struct peers_sum);
} sums SEC(".maps");

struct connection {
	__u32 from, to;
	__u16 from_port, to_port;
};

struct traffic {
	__u64 received, sent;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CONNECTIONS);
	__type(key, struct connection);
	__type(value, struct traffic);
} connections SEC(".maps");

static void add(enum peers_call call, bool failed, __u64 bytes)
{
	struct peers_key key = {.cgroup = bpf_get_current_cgroup_id(), .call = call};
	struct peers_sum none = {0}, *sum;

	bpf_map_update_elem(&sums, &key, &none, BPF_NOEXIST);
	sum = bpf_map_lookup_elem(&sums, &key);
	if (!sum)
		return;
	__sync_fetch_and_add(&sum->calls, 1);
	__sync_fetch_and_add(&sum->errors, failed);
	__sync_fetch_and_add(&sum->bytes, bytes);
}

static int transfer(enum peers_call call, __u64 file, __s64 result)
{
	if (BPF_CORE_READ((struct file *)file, f_inode, i_sb, s_dev) == device)
		add(call, result < 0, result < 0 ? 0 : result);
	return 0;
}

static int change(enum peers_call call, __u64 result)
{
	add(call, (int)result != 0, 0);
	return 0;
}

#define TRANSFER(function, call)                                                                   \
	SEC("fexit/" #function) int x_##function(__u64 *ctx)                                       \
	{                                                                                          \
		return transfer(call, ctx[0], ctx[4]);                                             \
	}
#define CHANGE(function, call, result)                                                             \
	SEC("fexit/" #function) int x_##function(__u64 *ctx)                                       \
	{                                                                                          \
		return change(call, ctx[result]);                                                  \
	}

/* vfs_readv and vfs_writev have a fifth argument, the flags: the result is after it. */
TRANSFER(vfs_read, PEERS_READ)
TRANSFER(vfs_readv, PEERS_READ)
TRANSFER(vfs_write, PEERS_WRITE)
TRANSFER(vfs_writev, PEERS_WRITE)
CHANGE(vfs_open, PEERS_OPEN, 2)
CHANGE(vfs_create, PEERS_CREATE, 5)
CHANGE(vfs_mkdir, PEERS_CREATE, 4)
CHANGE(vfs_unlink, PEERS_UNLINK, 4)
CHANGE(vfs_rmdir, PEERS_UNLINK, 3)

/* The gain of the connection's own counters since the last call of any task. */
static int tcp(__u64 address)
{
	struct sock_common *c = &((struct sock *)address)->__sk_common;
	struct tcp_sock *tcp = (struct tcp_sock *)address;
	struct connection key = {BPF_CORE_READ(c, skc_rcv_saddr), BPF_CORE_READ(c, skc_daddr),
				 BPF_CORE_READ(c, skc_num), BPF_CORE_READ(c, skc_dport)};
	struct traffic now = {BPF_CORE_READ(tcp, bytes_received), BPF_CORE_READ(tcp, bytes_sent)};
	struct traffic *before;

	if (!key.from_port) /* its end has given the port back */
		key.from_port = bpf_ntohs(BPF_CORE_READ((struct inet_sock *)address, inet_sport));
	if (!key.from || !key.to || !key.from_port || !key.to_port)
		return 0;
	before = bpf_map_lookup_elem(&connections, &key);
	add(PEERS_TCP_RECEIVED, false, now.received - (before ? before->received : 0));
	add(PEERS_TCP_SENT, false, now.sent - (before ? before->sent : 0));
	bpf_map_update_elem(&connections, &key, &now, BPF_ANY);
	return 0;
}

SEC("fexit/tcp_sendmsg") int x_tcp_sendmsg(__u64 *ctx)
{
	return tcp(ctx[0]);
}

SEC("fexit/tcp_recvmsg") int x_tcp_recvmsg(__u64 *ctx)
{
	return tcp(ctx[0]);
}

static int udp(enum peers_call call, int result)
{
	if (result > 0)
		add(call, false, result);
	return 0;
}

SEC("fexit/udp_sendmsg") int x_udp_sendmsg(__u64 *ctx)
{
	return udp(PEERS_UDP_SENT, ctx[3]);
}

SEC("fexit/udp_recvmsg") int x_udp_recvmsg(__u64 *ctx)
{
	return udp(PEERS_UDP_RECEIVED, ctx[5]);
}

char LICENSE[] SEC("license") = "GPL";
