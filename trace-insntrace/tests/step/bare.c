/*
 * Executes a program by single steps and nothing else.
 *
 *     bare rate N PROGRAM...  at most N steps of the first thread; prints their number and
 *                             nanoseconds
 *     bare list N PROGRAM...  at most N steps of all threads, or all if 0, without random
 *                             addresses. Prints the addresses of the vDSO, and then the number of
 *                             the thread and the address of each executed instruction, that of all
 *                             iterations of a `rep` once
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

#define MOST_THREADS 64

typedef unsigned long long address;

struct thread {
	pid_t tid;
	/* The next instruction. */
	address ip;
};

static struct thread threads[MOST_THREADS];
static int status;

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
	for (; steps < budget && WIFSTOPPED(status); steps++) {
		ptrace(PTRACE_SINGLESTEP, child, 0, signal_of_stop());
		waitpid(child, &status, 0);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (WIFSTOPPED(status))
		kill(child, SIGKILL);
	printf("%ld %ld\n", steps,
	       (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec);
}

static void print_vdso(pid_t child)
{
	char path[64], line[512];
	address start = 0, end = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", child);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[vdso]"))
			sscanf(line, "%llx-%llx", &start, &end);
	printf("%llx %llx\n", start, end);
}

/* Returns the number of a thread. A new one is stopped by its creation. */
static int number_of(pid_t tid, int *is_new)
{
	int number = 0;

	while (threads[number].tid && threads[number].tid != tid)
		if (++number == MOST_THREADS)
			exit(1);
	*is_new = !threads[number].tid;
	threads[number].tid = tid;
	return number;
}

static void print(int number)
{
	printf("%d %llx\n", number, threads[number].ip);
}

/* An instruction was executed if the address changed, but not because a handler begins. */
static void list(pid_t child, long budget)
{
	struct user_regs_struct registers;
	siginfo_t reason;
	pid_t tid = child;

	print_vdso(child);
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACECLONE);
	for (long steps = 0; !budget || steps < budget; steps++) {
		int is_new, number = number_of(tid, &is_new);

		if (WIFSTOPPED(status)) {
			int signal = is_new ? 0 : signal_of_stop();

			ptrace(PTRACE_GETREGS, tid, 0, &registers);
			ptrace(PTRACE_GETSIGINFO, tid, 0, &reason);
			if (!is_new && registers.rip != threads[number].ip &&
			    (signal || reason.si_code != SIGTRAP))
				print(number);
			threads[number].ip = registers.rip;
			ptrace(PTRACE_SINGLESTEP, tid, 0, signal);
		} else {
			print(number);
		}
		tid = waitpid(-1, &status, __WALL);
		if (tid == -1)
			return;
	}
	kill(child, SIGKILL);
}

int main(int argc, char **argv)
{
	/* That of fixed.c. */
	static char *environment[] = {"PYTHONHASHSEED=0", "PERL_HASH_SEED=0", 0};
	int lists = argc > 3 && strcmp(argv[1], "list") == 0;
	pid_t child = argc > 3 ? fork() : -1;

	if (child == -1)
		return 1;
	if (child == 0) {
		dup2(2, 1);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		if (lists && personality(ADDR_NO_RANDOMIZE) != -1)
			execve(argv[3], argv + 3, environment);
		else if (!lists)
			execv(argv[3], argv + 3);
		_exit(1);
	}
	waitpid(child, &status, 0);
	if (lists)
		list(child, atol(argv[2]));
	else
		measure(child, atol(argv[2]));
	return 0;
}
