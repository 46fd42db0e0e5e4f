/*
 * Threads, changed code, and instructions that single steps could disturb.
 * Prints "42 43 44 2 1 0 5".
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Atomic int done;
static volatile sig_atomic_t handled;

static void handler(int signal)
{
	(void)signal;
	handled++;
}

__attribute__((noinline)) static int square(int value)
{
	return value * value;
}

static void *work(void *argument)
{
	int sum = 0;
	for (int i = 0; i < 20; i++)
		sum += square(i);
	raise(SIGUSR1);
	done++;
	return sum == 2470 ? argument : NULL;
}

/* Writes a function that returns `value`, and calls it. */
static int generated(unsigned char *code, int value)
{
	code[0] = 0xb8;
	memcpy(code + 1, &value, 4);
	code[5] = 0xc3;
	return ((int (*)(void))code)();
}

/* Returns the trap flag that pushf stores. */
static unsigned pushed_trap_flag(void)
{
	uint64_t flags;
	__asm__ volatile("pushfq\n\tpopq %0" : "=r"(flags));
	return flags >> 8 & 1;
}

static void restore_flags(void)
{
	__asm__ volatile("pushfq\n\tpopfq\n\tnop" ::: "cc");
}

/* The instruction behind a load of SS executes in the same step. */
static int load_stack_segment(void)
{
	int value;
	__asm__ volatile("mov %%ss, %%eax\n\tmov %%eax, %%ss\n\tmov $5, %0\n\tnop"
			 : "=r"(value)
			 :
			 : "eax");
	return value;
}

int main(void)
{
	pthread_t threads[2];
	struct timespec now;
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	signal(SIGUSR1, handler);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, &done);
	int first = generated(code, 42), second = generated(code, 43);
	clock_gettime(CLOCK_MONOTONIC, &now);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	int third = generated(code, 44);

	pid_t child = fork();
	if (child == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	int status = -1;
	waitpid(child, &status, 0);
	restore_flags();
	printf("%d %d %d %d %d %u %d\n", first, second, third, done, status == 0 && handled == 2,
	       pushed_trap_flag(), load_stack_segment());
	return 0;
}
