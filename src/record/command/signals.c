/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles Ctrl-C and other signals that end a recording; see signals.h. */
#include "record/command/signals.h"

#include <signal.h>
#include <unistd.h>

#include "base/system/clock.h"

#define SENT_BY_PROCESS 0x100

/*
 * timeout(1) sends its signal first to the process and then to the process group, so krait gets it
 * twice. A signal that comes this soon after another signal isn't counted.
 */
#define SAME_SIGNAL_NS (500 * NSEC_PER_MSEC)

#define ABORTS	       3 /* with this many signals, krait ends at once */
#define ABORTS_WRITTEN 2

/*
 * The first signal that asked krait to stop; 0: none has come. The bit SENT_BY_PROCESS is set if
 * another process sent the signal.
 */
static volatile sig_atomic_t stop_flag;
static volatile sig_atomic_t count;
static volatile sig_atomic_t aborts = ABORTS;
/* time of the latest signal that was counted; only the handler uses this */
static uint64_t counted_at_ns;

/*
 * SIGINT was ignored when krait started, as in a background job of a script. In this case krait
 * ignores Ctrl-C, but not a SIGINT that a process sends (`kill -INT`).
 */
static bool ignores_terminal;

static volatile sig_atomic_t takes_reload, reload_flag;
static volatile sig_atomic_t usr1_flag, usr1_sender;

/* Function that is called when a signal ends krait; NULL: none. */
static void (*undo)(void *);
static void *undo_arg;

static const int stopping[] = {SIGINT, SIGTERM, SIGHUP};
static sigset_t blocked_before; /* the signals that were blocked when krait started */

static void undo_now(void)
{
	if (undo)
		undo(undo_arg);
}

/*
 * Ends krait by the default action of the signal, so that krait's parent sees the signal's number.
 */
static void end_by(int number)
{
	sigset_t set;

	undo_now();
	signal(number, SIG_DFL);
	raise(number);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	/*
	 * Signals of the terminal come from the kernel, with si_code SI_KERNEL, which is above 0.
	 */
	bool sent = info->si_code <= 0;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (number == SIGINT && ignores_terminal && !sent)
		return;
	if (number == SIGHUP && takes_reload && sent) {
		reload_flag = 1;
		return;
	}
	if (count && now - counted_at_ns <= SAME_SIGNAL_NS)
		return;
	counted_at_ns = now;
	if (++count >= aborts)
		end_by(number);
	if (!stop_flag)
		stop_flag = number | (sent ? SENT_BY_PROCESS : 0);
}

static bool is_ignored(int number)
{
	struct sigaction now;

	return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void install(int flags)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};

	/*
	 * Calls clock_ns() once, because its first call takes a lock, and the handler may not wait
	 * for a lock.
	 */
	(void)clock_ns(CLOCK_MONOTONIC);
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(stopping); i++)
		sigaddset(&action.sa_mask, stopping[i]);
	for (size_t i = 0; i < ARRAY_SIZE(stopping); i++)
		if (stopping[i] == SIGINT || !is_ignored(stopping[i]))
			sigaction(stopping[i], &action, NULL);
}

/*
 * Unblocks the signals for krait. A program that starts krait may have blocked them, to wait for
 * them itself. The command gets the old mask back.
 */
static void unblock(void)
{
	sigset_t all;

	sigemptyset(&all);
	for (size_t i = 0; i < ARRAY_SIZE(stopping); i++)
		sigaddset(&all, stopping[i]);
	sigprocmask(SIG_UNBLOCK, &all, &blocked_before);
}

void signals_take(void)
{
	ignores_terminal = is_ignored(SIGINT);
	install(0);
	unblock();
	signal(SIGPIPE, SIG_IGN);
	/*
	 * krait ignores SIGXFSZ, so that a write beyond the limit of file sizes fails with an
	 * error, as on a full disk
	 */
	signal(SIGXFSZ, SIG_IGN);
}

void signals_take_reload(void)
{
	takes_reload = 1;
}

bool signals_reload(void)
{
	bool ret = reload_flag;

	reload_flag = 0;
	return ret;
}

static void on_usr1(int number, siginfo_t *info, void *context)
{
	usr1_sender = info->si_code <= 0 ? info->si_pid : 0;
	usr1_flag = 1;
}

void signals_take_usr1(void)
{
	const struct sigaction action = {.sa_sigaction = on_usr1,
					 .sa_flags = SA_SIGINFO | SA_RESTART};

	sigaction(SIGUSR1, &action, NULL);
}

bool signals_usr1(long *sender)
{
	bool ret = usr1_flag;

	usr1_flag = 0;
	*sender = usr1_sender;
	return ret;
}

void signals_phase(enum signals_phase phase)
{
	aborts = phase == SIGNALS_WRITTEN ? ABORTS_WRITTEN : ABORTS;
	install(phase == SIGNALS_WRITING ? SA_RESTART : 0);
}

unsigned signals_count(void)
{
	return (unsigned)count;
}

/*
 * Does what the signal does by default: the handler has SA_RESETHAND, so raise() doesn't call it
 * again.
 */
static void on_deadly(int number)
{
	undo_now();
	raise(number);
}

static bool is_deadly(int number)
{
	static const int others[] = {SIGCHLD, SIGCONT, SIGURG,	SIGWINCH,
				     SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP};
	struct sigaction now;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (number == others[i])
			return false;
	return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
}

void signals_undo(void (*f)(void *), void *arg)
{
	const struct sigaction action = {.sa_handler = on_deadly, .sa_flags = SA_RESETHAND};

	undo = NULL;
	undo_arg = arg;
	undo = f;
	for (int number = 1; f && number <= SIGRTMAX; number++)
		if (is_deadly(number))
			sigaction(number, &action, NULL);
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
	/* exec() resets handlers itself, but not that a signal is ignored. */
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (ignores_terminal)
		signal(SIGINT, SIG_IGN);
	sigprocmask(SIG_SETMASK, &blocked_before, NULL);
}
