/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of kernel frames; what was loaded while krait records has its name too. Reading all of them takes a tenth
 * of a second, in which a thread does it: the first stack of the kernel comes soon, as do questions about new processes.
 */
#include "base/clock.h"
#include "base/log.h"
#include "collect/internal.h"
#include "symbol/kernel_names.h"

#define WAIT_MIN_NS NSEC_PER_SEC
#define WAIT_MAX_NS (60 * WAIT_MIN_NS)

static const char *find(const struct collect *c, uint64_t pc, const char **module)
{
	return c->kernel ? kernel_names_find(c->kernel, pc, module) : NULL;
}

/* The first of @pc[@n] that has no name; 0: none. */
static uint64_t first_unknown(const struct collect *c, const uint64_t *pc, size_t n)
{
	const char *module;

	for (size_t i = 0; i < n; i++)
		if (!find(c, pc[i], &module))
			return pc[i];
	return 0;
}

void kernel_take(struct collect *c, struct kernel_names *names, const char *why)
{
	const char *module;

	if (*why)
		log_info("%s", why);
	if (names) {
		kernel_names_free(c->kernel);
		c->kernel = names;
	}
	/* What has no name at all mustn't keep krait at it. */
	c->kernel_wait_ns = !c->kernel_wait_ns || find(c, c->kernel_unknown, &module)
				    ? WAIT_MIN_NS
				    : MIN(c->kernel_wait_ns * 2, WAIT_MAX_NS);
	c->kernel_retry_ns = clock_ns(CLOCK_MONOTONIC) + c->kernel_wait_ns;
	c->kernel_asked = false;
}

/* What isn't known may have been loaded since: a module, a BPF program. */
bool kernel_ready(struct collect *c, const uint64_t *pc, size_t n)
{
	uint64_t unknown;

	if (!n || c->config.kallsyms < 0 || (c->kernel_wait_ns && !c->kernel))
		return true;
	unknown = first_unknown(c, pc, n);
	if (!unknown)
		return true;
	if (!c->kernel_asked) {
		if (clock_ns(CLOCK_MONOTONIC) < c->kernel_retry_ns)
			return true;
		c->kernel_asked = true;
		c->kernel_unknown = unknown;
		native_work_kernel(c);
	}
	return !c->kernel_asked;
}

/*
 * What is written of @pc: everybody may read a recording, but only some may know where the kernel
 * is.
 */
static uint64_t shown_address(const struct collect *c, uint64_t pc)
{
	if (c->config.kernel_addresses)
		return pc;
	return c->kernel ? kernel_names_relative(c->kernel, pc) : 0;
}

/* Kernel addresses have no file: their mapping is "[kernel]" or, of a module, "[kernel MODULE]". */
uint32_t kernel_location(struct collect *c, uint64_t pc)
{
	const uint64_t address = shown_address(c, pc);
	const char *module = "", *symbol;
	struct profile_function fn = {};
	struct profile_mapping mapping = {.kind = KIND_KERNEL};
	char text[80];

	symbol = find(c, pc, &module);
	snprintf(text, sizeof(text), *module ? "[kernel %.64s]" : "[kernel]", module);
	mapping.name = profile_string(c->profile, text);
	snprintf(text, sizeof(text), address ? "[kernel+0x%llx]" : "[kernel]",
		 (unsigned long long)address);
	fn.name = profile_string(c->profile, symbol ? symbol : text);
	return profile_location(
		c->profile,
		&(struct profile_location){.mapping = profile_mapping(c->profile, &mapping),
					   .function = profile_function(c->profile, &fn),
					   .address = address});
}

uint32_t collect_kernel_stack(struct collect *c, const __u64 *pc, size_t n)
{
	uint32_t locations[ABI_MAX_KERNEL];
	uint64_t at[ABI_MAX_KERNEL];

	n = MIN(n, (size_t)ABI_MAX_KERNEL);
	for (size_t i = 0; i < n; i++)
		at[i] = pc[i];
	while (!kernel_ready(c, at, n) && !c->hurried)
		collect_await(c);
	for (size_t i = 0; i < n; i++)
		locations[i] = kernel_location(c, at[i]);
	return profile_stack(c->profile, locations, n);
}
