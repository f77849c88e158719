/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of kernel frames; what was loaded while krait records has its name too. */
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "collect/internal.h"
#include "symbol/kernel_names.h"

#define WAIT_MIN_NS NSEC_PER_SEC /* as kernel_names_refresh() */
#define WAIT_MAX_NS (60 * WAIT_MIN_NS)

/*
 * What isn't known may have been loaded since: a module, a BPF program. Reading all names again takes
 * tens of milliseconds; what has no name at all mustn't keep krait at it.
 */
static const char *kernel_symbol(struct collect *c, uint64_t pc, const char **module)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const char *name;

	if (!c->kernel_tried && c->config.kallsyms >= 0 &&
	    kernel_names_open(c->config.kallsyms, &c->kernel)) {
		log_info("%s", err_msg());
		c->kernel = NULL;
	}
	c->kernel_tried = true;
	name = c->kernel ? kernel_names_find(c->kernel, pc, module) : NULL;
	if (name || !c->kernel || now < c->kernel_retry_ns)
		return name;
	if (kernel_names_refresh(c->kernel))
		log_info("%s", err_msg());
	name = kernel_names_find(c->kernel, pc, module);
	c->kernel_wait_ns =
		name ? WAIT_MIN_NS : MIN(MAX(c->kernel_wait_ns, WAIT_MIN_NS) * 2, WAIT_MAX_NS);
	c->kernel_retry_ns = now + c->kernel_wait_ns;
	return name;
}

/* Kernel addresses have no file: their mapping is "[kernel]" or, of a module, "[kernel MODULE]". */
uint32_t kernel_location(struct collect *c, uint64_t pc)
{
	const char *module = "", *symbol;
	struct profile_function fn = {};
	struct profile_mapping mapping = {.kind = KIND_KERNEL};
	char text[80];

	symbol = kernel_symbol(c, pc, &module);
	snprintf(text, sizeof(text), *module ? "[kernel %.64s]" : "[kernel]", module);
	mapping.name = profile_string(c->profile, text);
	snprintf(text, sizeof(text), "[kernel+0x%llx]", (unsigned long long)pc);
	fn.name = profile_string(c->profile, symbol ? symbol : text);
	return profile_location(
		c->profile,
		&(struct profile_location){.mapping = profile_mapping(c->profile, &mapping),
					   .function = profile_function(c->profile, &fn),
					   .address = pc});
}

uint32_t collect_kernel_stack(struct collect *c, const __u64 *pc, size_t n)
{
	uint32_t locations[ABI_MAX_KERNEL];

	n = MIN(n, (size_t)ABI_MAX_KERNEL);
	for (size_t i = 0; i < n; i++)
		locations[i] = kernel_location(c, pc[i]);
	return profile_stack(c->profile, locations, n);
}
