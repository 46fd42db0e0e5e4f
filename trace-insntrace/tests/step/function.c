/*
 * Calls of a function, in threads, a child and a longjmp. A second argument is the number of turns
 * between the calls.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long sink;
static jmp_buf back;

__attribute__((noinline)) static int inner(int number)
{
	sink += number;
	return number;
}

/* Executes more instructions the higher the number is. */
__attribute__((noinline)) int chosen(int number)
{
	for (int i = 0; i < number; i++)
		sink++;
	return inner(number) + 1;
}

__attribute__((noinline)) int leaves(int number)
{
	if (number % 2)
		longjmp(back, number);
	return inner(number);
}

__attribute__((noinline)) int recursive(int depth)
{
	return depth ? recursive(depth - 1) + 1 : 0;
}

/* Far too many for single steps. */
static long turns = 20000000;

__attribute__((noinline)) static void outside(void)
{
	for (long i = 0; i < turns; i++)
		sink++;
}

static void handler(int signal)
{
	sink += signal;
}

__attribute__((noinline)) int interrupted(int number)
{
	raise(SIGUSR1);
	return number + 1;
}

static void *work(void *argument)
{
	for (int i = 0; i < 20; i++)
		chosen(i);
	return argument;
}

int main(int count, char **arguments)
{
	const char *part = count > 1 ? arguments[1] : "";
	char other_stack[20000];
	stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	if (count > 2)
		turns = atol(arguments[2]);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	outside();
	if (!strcmp(part, "nth")) {
		for (int i = 1; i <= 9; i++)
			chosen(i);
	} else if (!strcmp(part, "leaves")) {
		for (volatile int i = 0; i < 6; i++)
			if (!setjmp(back))
				leaves(i);
		outside();
	} else if (!strcmp(part, "signal")) {
		recursive(3);
		interrupted(4);
		outside();
	} else {
		pthread_t threads[2];
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, work, NULL);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		pid_t child = fork();
		if (child == 0)
			_exit(chosen(4) != 5);
		int status = -1;
		waitpid(child, &status, 0);
		sink += status;
	}
	outside();
	puts("done");
	return 9;
}
