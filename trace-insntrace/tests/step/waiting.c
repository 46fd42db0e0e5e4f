/*
 * A thread that counts, and one that waits for input. Ends with status 3 at the end of the input, if
 * the first thread counts on.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long count;

__attribute__((noinline)) static void add(void)
{
	count++;
}

static void *work(void *argument)
{
	for (;;)
		add();
	return argument;
}

int main(void)
{
	pthread_t thread;
	char byte;

	pthread_create(&thread, NULL, work, NULL);
	write(1, "x", 1);
	while (read(0, &byte, 1) > 0)
		;
	unsigned long before = count;
	while (count < before + 1000)
		;
	return 3;
}
