/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds what a descriptor refers to: the other end of a socket, or the name of a file. */
#ifndef BPF_PROCESS_DESCRIPTOR_H
#define BPF_PROCESS_DESCRIPTOR_H

#include "process/waiting.bpf.h"

walk_inline __u16 from_network(__u16 n)
{
	return (__u16)(n << 8 | n >> 8);
}

/*
 * Sets @on to the address of the other end of a connection over IPv4 or, for a socket that listens,
 * to its own address.
 */
walk_inline void on_ipv4(struct wait_on *on, struct sock *sk)
{
	__u32 addr = BPF_CORE_READ(sk, __sk_common.skc_daddr);

	on->port = from_network(BPF_CORE_READ(sk, __sk_common.skc_dport));
	on->listens = !on->port;
	if (on->listens) {
		addr = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		on->port = BPF_CORE_READ(sk, __sk_common.skc_num);
	}
	on->kind = WAIT_ON_IPV4;
	__builtin_memcpy(on->text, &addr, sizeof(addr));
}

walk_inline void on_ipv6(struct wait_on *on, struct sock *sk)
{
	const void *addr = &sk->__sk_common.skc_v6_daddr;

	if (!bpf_core_field_exists(sk->__sk_common.skc_v6_daddr))
		return;
	on->port = from_network(BPF_CORE_READ(sk, __sk_common.skc_dport));
	on->listens = !on->port;
	if (on->listens) {
		addr = &sk->__sk_common.skc_v6_rcv_saddr;
		on->port = BPF_CORE_READ(sk, __sk_common.skc_num);
	}
	if (!bpf_core_read(on->text, 16, addr))
		on->kind = WAIT_ON_IPV6;
}

/*
 * Sets @on to the path that the other end of a Unix socket is bound to, else to the socket's own
 * path.
 */
walk_inline void on_unix(struct wait_on *on, struct sock *sk)
{
	struct unix_sock *own = (void *)sk, *peer;
	struct unix_address *addr;
	__s32 n;

	if (!bpf_core_field_exists(own->peer))
		/* the kernel's BTF lacks Unix sockets, because Unix sockets are a kernel module */
		return;
	peer = (void *)BPF_CORE_READ(own, peer);
	addr = BPF_CORE_READ(peer, addr);
	if (!addr)
		addr = BPF_CORE_READ(own, addr);
	if (!addr)
		return;
	n = BPF_CORE_READ(addr, len) - (__s32)sizeof(__u16); /* without the family */
	if (n <= 0)
		return;
	if (n > WAIT_ON_BYTES - 1)
		n = WAIT_ON_BYTES - 1;
	if (bpf_core_read(on->text, bounded((__u32)n, WAIT_ON_BYTES), &addr->name[0].sun_path))
		return;
	if (!on->text[0])
		/* '@' stands for the NUL of an abstract name, which isn't a path */
		on->text[0] = '@';
	on->kind = WAIT_ON_UNIX;
}

#define FAMILY_UNIX 1
#define FAMILY_IPV4 2
#define FAMILY_IPV6 10

walk_inline void on_socket(struct wait_on *on, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	switch (BPF_CORE_READ(sk, __sk_common.skc_family)) {
	case FAMILY_IPV4:
		on_ipv4(on, sk);
		break;
	case FAMILY_IPV6:
		on_ipv6(on, sk);
		break;
	case FAMILY_UNIX:
		on_unix(on, sk);
		break;
	}
}

/*
 * Takes the last part of a file's path. User space finds the other parts of the path. By the last
 * part user space sees whether the descriptor still belongs to the same file. A pipe has no name.
 */
walk_inline void on_file(struct wait_on *on, struct file *file)
{
	const unsigned char *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);

	if (bpf_probe_read_kernel_str(on->text, WAIT_ON_BYTES, name) > 1)
		on->kind = WAIT_ON_FILE;
}

/* Describes in @on the open @file, whose descriptor is @fd. Returns its enum wait_fd. */
walk_inline __u8 describe_file(struct wait_on *on, __u64 fd, struct file *file)
{
	__u8 kind = kind_of_file(file);

	__builtin_memset(on, 0, sizeof(*on));
	on->fd = (__s32)fd;
	if (kind == WAIT_FD_SOCKET)
		on_socket(on, file);
	else if (kind == WAIT_FD_FILE || kind == WAIT_FD_PIPE)
		on_file(on, file);
	return kind;
}

#endif
