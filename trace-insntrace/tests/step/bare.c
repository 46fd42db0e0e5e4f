/*
 * Executes a program by single steps and nothing else.
 *
 *     bare N PROGRAM...      at most N steps; prints their number and nanoseconds
 *     bare list PROGRAM...   without random addresses; prints the address of each executed
 *                            instruction, that of all iterations of a `rep` once
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int status;

static void step(pid_t child, int signal)
{
	ptrace(PTRACE_SINGLESTEP, child, 0, signal);
	waitpid(child, &status, 0);
}

/* Returns the signal of a stop that is not the end of a step. */
static int signal_of_stop(void)
{
	return WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

static void measure(pid_t child, long budget)
{
	struct timespec begin, end;
	long steps = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (; steps < budget && WIFSTOPPED(status); steps++)
		step(child, signal_of_stop());
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (WIFSTOPPED(status)) {
		ptrace(PTRACE_KILL, child, 0, 0);
		kill(child, SIGKILL);
	}
	printf("%ld %ld\n", steps,
	       (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec);
}

/* An instruction was executed if the address changed, but not because a handler begins. */
static void list(pid_t child)
{
	struct user_regs_struct before, now;
	siginfo_t reason;

	ptrace(PTRACE_GETREGS, child, 0, &before);
	for (int signal = 0; step(child, signal), WIFSTOPPED(status); before = now) {
		ptrace(PTRACE_GETREGS, child, 0, &now);
		ptrace(PTRACE_GETSIGINFO, child, 0, &reason);
		signal = signal_of_stop();
		if (now.rip != before.rip && (signal || reason.si_code != SIGTRAP))
			printf("%llx\n", before.rip);
	}
	printf("%llx\n", before.rip);
}

int main(int argc, char **argv)
{
	/* That of fixed.c. */
	static char *environment[] = {"PYTHONHASHSEED=0", 0};
	int lists = argc > 2 && strcmp(argv[1], "list") == 0;
	pid_t child = argc > 2 ? fork() : -1;

	if (child == -1)
		return 1;
	if (child == 0) {
		dup2(2, 1);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		if (lists && personality(ADDR_NO_RANDOMIZE) != -1)
			execve(argv[2], argv + 2, environment);
		else if (!lists)
			execv(argv[2], argv + 2);
		_exit(1);
	}
	waitpid(child, &status, 0);
	if (lists)
		list(child);
	else
		measure(child, atol(argv[1]));
	return 0;
}
