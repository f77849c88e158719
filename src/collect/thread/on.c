/* SPDX-License-Identifier: BSD-2-Clause */
/* Names what a thread waited for; see on.h. */
#include "collect/thread/on.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cleanup.h"
#include "collect/budget/asked.h"
#include "collect/thread/internal.h"

static const char other[] = "[other]";

void on_fini(struct on_values *v)
{
	vec_foreach(text, &v->texts)
		free(*text);
	vec_fini(&v->texts);
	map_fini(&v->by_hash);
	free(v->commands);
	*v = (struct on_values){};
}

const char *on_text(const struct on_values *v, uint32_t number)
{
	return number ? v->texts.v[number - 1] : NULL;
}

/*
 * Returns the number of the value @text, which is added if it is new; if there is no room, the
 * number of "[other]". 0: no memory.
 */
static uint32_t number_of_text(struct on_values *v, const char *text)
{
	uint64_t hash = XXH3_64bits(text, strlen(text));
	const uint64_t *known = map_get(&v->by_hash, hash);
	char *copy;

	if (known && streq(on_text(v, (uint32_t)*known), text))
		return (uint32_t)*known;
	/* another text has the same hash; only a hostile process makes such texts */
	if ((known || v->texts.n >= ON_VALUES) && text != other)
		return number_of_text(v, other);
	copy = strdup(text);
	if (!copy || vec_push(&v->texts, copy)) {
		free(copy);
		return 0;
	}
	(void)!map_put(&v->by_hash, hash, v->texts.n);
	return (uint32_t)v->texts.n;
}

void on_add_address(const struct wait_on *on, struct str *ret)
{
	bool six = on->kind == WAIT_ON_IPV6;
	char text[INET6_ADDRSTRLEN] = "";
	struct in6_addr addr;

	memcpy(&addr, on->text, sizeof(addr));
	if (six && IN6_IS_ADDR_V4MAPPED(&addr)) {
		memmove(&addr, addr.s6_addr + 12, 4);
		six = false;
	}
	inet_ntop(six ? AF_INET6 : AF_INET, &addr, text, sizeof(text));
	str_addf(ret, six ? "%s[%s]:%u" : "%s%s:%u", on->listens ? "listening on " : "", text,
		 on->port);
}

static bool ends_in(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	/* the kernel adds " (deleted)" to the path of a removed file */
	return slash && !strncmp(slash + 1, name, strlen(name)) &&
	       (!slash[1 + strlen(name)] || streq(slash + 1 + strlen(name), " (deleted)"));
}

/*
 * Adds the path of the file to which the descriptor refers, if it is still the file for which the
 * wait began. If it isn't, adds @name, the last part of that file's path.
 */
static void add_path(struct collect *c, uint32_t tgid, int fd, const char *name, struct str *ret)
{
	char link[64], path[ON_BYTES];
	uint64_t began_ns;
	ssize_t n = -1;

	snprintf(link, sizeof(link), "/proc/%u/fd/%d", tgid, fd);
	if (asked_may(c)) {
		began_ns = asked_begin();
		n = readlink(link, path, sizeof(path) - 1);
		asked_end(c, began_ns);
	}
	path[n < 0 ? 0 : n] = '\0';
	str_add(ret, ends_in(path, name) ? path : name);
}

static uint32_t number_of_file(struct collect *c, uint32_t tgid, const struct wait_on *on)
{
	struct on_values *v = &c->threads->on;
	struct on_path *p = &v->paths[(tgid * 31 + (uint32_t)on->fd) % ARRAY_SIZE(v->paths)];
	_cleanup_str_ struct str path = {};
	char name[WAIT_ON_BYTES];

	snprintf(name, sizeof(name), "%.*s", WAIT_ON_BYTES - 1, (const char *)on->text);
	if (p->value && p->tgid == tgid && p->fd == on->fd && p->flush == c->flushes &&
	    ends_in(on_text(v, p->value), name))
		return p->value;
	add_path(c, tgid, on->fd, name, &path);
	*p = (struct on_path){tgid, c->flushes, on->fd, number_of_text(v, str_cstr(&path))};
	return p->value;
}

void on_command(struct collect *c, uint32_t tgid, const char *comm)
{
	struct on_values *v = &c->threads->on;
	struct on_command *at;

	if (!c->config.waits)
		return;
	if (!v->commands)
		v->commands = calloc(ON_COMMANDS, sizeof(*v->commands));
	if (!v->commands)
		return;
	at = &v->commands[tgid % ON_COMMANDS];
	at->tgid = tgid;
	snprintf(at->comm, sizeof(at->comm), "%s", comm);
}

uint32_t on_child(int32_t call, const uint64_t *arg, uint8_t flags)
{
	if (!(flags & WAIT_NUMBERS))
		return 0;
	if (call == SYS_wait4)
		return (int32_t)arg[0] > 0 ? (uint32_t)arg[0] : 0;
	return call == SYS_waitid && arg[0] == P_PID ? (uint32_t)arg[1] : 0;
}

static uint32_t number_of_child(struct on_values *v, uint32_t tgid)
{
	const struct on_command *at = v->commands ? &v->commands[tgid % ON_COMMANDS] : NULL;

	return at && tgid && at->tgid == tgid && *at->comm ? number_of_text(v, at->comm) : 0;
}

/*
 * Does the system call wait for the descriptor that is its first argument? The kernel program
 * assumes that every system call does.
 */
static bool waits_for_descriptor(const struct rec_wait *wait)
{
#ifdef SYS_poll
	if (wait->call == SYS_poll)
		return true;
#endif
	return wait->call == SYS_ppoll ||
	       wait_rule_of(wait->call, (const uint64_t *)wait->arg, "")->fd == 0;
}

uint32_t on_find(struct collect *c, uint32_t tgid, const struct rec_wait *wait)
{
	struct on_values *v = &c->threads->on;
	_cleanup_str_ struct str text = {};

	if (!wait->on.kind || !waits_for_descriptor(wait))
		return number_of_child(
			v, on_child(wait->call, (const uint64_t *)wait->arg, wait->flags));
	switch (wait->on.kind) {
	case WAIT_ON_IPV4:
	case WAIT_ON_IPV6:
		on_add_address(&wait->on, &text);
		break;
	case WAIT_ON_UNIX:
		str_add_n(&text, wait->on.text,
			  strnlen((const char *)wait->on.text, WAIT_ON_BYTES));
		break;
	case WAIT_ON_FILE:
		return number_of_file(c, tgid, &wait->on);
	}
	return text.n ? number_of_text(v, str_cstr(&text)) : 0;
}
