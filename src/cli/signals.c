/* SPDX-License-Identifier: BSD-2-Clause */
/* Ctrl-C and its kin; see signals.h. */
#include "cli/signals.h"

#include <signal.h>
#include <unistd.h>
#include "cli/exit.h"

#define SENT_BY_PROCESS 0x100

/* 0, or the number of the first signal, with SENT_BY_PROCESS. */
static volatile sig_atomic_t stop_flag;

static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};

static void on_signal(int number, siginfo_t *info, void *context)
{
	if (stop_flag)
		_exit(EXIT_ABORTED);
	/* The terminal's signals come from the kernel, with SI_KERNEL > 0. */
	stop_flag = number | (info->si_code <= 0 ? SENT_BY_PROCESS : 0);
}

static bool is_ignored(int number)
{
	struct sigaction now;

	return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void signals_take(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	for (size_t i = 0; i < ARRAY_SIZE(stopping); i++)
		if (!is_ignored(stopping[i]))
			sigaction(stopping[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int signals_stop(void)
{
	return stop_flag & ~SENT_BY_PROCESS;
}

bool signals_stop_was_sent(void)
{
	return stop_flag & SENT_BY_PROCESS;
}

void signals_give_back(void)
{
	/* exec() resets handlers by itself, and keeps what is ignored. */
	signal(SIGPIPE, SIG_DFL);
}
