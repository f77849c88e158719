/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pipes [CPU CPU]: two processes hand a byte to and fro through pipes as fast as they can, until
 * the first one is killed; with two arguments, each process stays on its CPU. On one CPU each task
 * switch is from one process to the other; on two CPUs it is from or to the idle task.
 */
#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void stay_on(const char *cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)atoi(cpu), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "CPU %s", cpu);
}

static void hand_over(int from, int to)
{
	char byte = 0;

	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		;
}

int main(int argc, char **argv)
{
	int there[2], back[2];
	pid_t child;

	if (pipe(there) || pipe(back))
		err(1, "pipe");
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (argc > 2)
		stay_on(argv[child ? 1 : 2]);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		hand_over(there[0], back[1]);
		return 0;
	}
	if (write(there[1], "", 1) != 1)
		err(1, "write");
	hand_over(back[0], there[1]);
	return 0;
}
