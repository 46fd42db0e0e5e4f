/* Executes a program by single steps and nothing else. Prints the number of steps and nanoseconds. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long budget = argc > 2 ? atol(argv[1]) : 0, steps = 0;
	struct timespec begin, end;
	int status;
	pid_t child = fork();

	if (child == 0) {
		dup2(2, 1);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[2], argv + 2);
		_exit(1);
	}
	waitpid(child, &status, 0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (; steps < budget && WIFSTOPPED(status); steps++) {
		int signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		ptrace(PTRACE_SINGLESTEP, child, 0, signal);
		waitpid(child, &status, 0);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (WIFSTOPPED(status)) {
		ptrace(PTRACE_KILL, child, 0, 0);
		kill(child, SIGKILL);
	}
	printf("%ld %ld\n", steps,
	       (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec);
	return 0;
}
