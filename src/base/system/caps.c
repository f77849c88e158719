/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes the capabilities of one thread; see caps.h. The system call is used directly, because
 * libcap's functions may change all threads of a process.
 */
#include "base/system/caps.h"

#include <sys/syscall.h>
#include <unistd.h>

struct sets {
	uint64_t effective, permitted;
};

static bool get(struct sets *ret)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};

	if (syscall(SYS_capget, &head, data))
		return false;
	ret->effective = (uint64_t)data[1].effective << 32 | data[0].effective;
	ret->permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	return true;
}

static void set(const struct sets *s)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{.effective = (uint32_t)s->effective, .permitted = (uint32_t)s->permitted},
		{.effective = s->effective >> 32, .permitted = s->permitted >> 32},
	};

	/*
	 * the kernel never refuses this call, because all capabilities in @data are permitted ones
	 */
	(void)syscall(SYS_capset, &head, data);
}

void caps_rest(void)
{
	struct sets s;

	if (!get(&s) || (!s.effective && !s.permitted))
		return;
	s.effective = 0;
	s.permitted &= CAPS_BPF | CAPS_READ | CAPS_IDS;
	set(&s);
}

void caps_give_up(void)
{
	set(&(struct sets){});
}

uint64_t caps_raise(uint64_t caps)
{
	struct sets s;
	uint64_t before;

	if (!get(&s))
		return 0;
	before = s.effective;
	s.effective |= caps & s.permitted;
	if (s.effective != before)
		set(&s);
	return before;
}

void caps_restore(uint64_t effective)
{
	struct sets s;

	if (!get(&s) || s.effective == effective)
		return;
	s.effective = effective & s.permitted;
	set(&s);
}
