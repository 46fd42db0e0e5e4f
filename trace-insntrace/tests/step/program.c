/* A program with every kind of branch, for the step engine. Its output is checked too. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t signals;
static jmp_buf back;

static void count(int signal)
{
	(void) signal;
	signals++;
}

static void fault(int signal)
{
	(void) signal;
	siglongjmp(back, 1);
}

static int compare(const void *one, const void *other)
{
	return *(const int *) one - *(const int *) other;
}

/* Deeper than the return stack of 64. */
static int deep(int depth)
{
	return depth ? deep(depth - 1) + 1 : 0;
}

static int choose(int which)
{
	switch (which) {
	case 0: return 3;
	case 1: return signals;
	case 2: return deep(9);
	case 3: return -1;
	case 4: return which * which;
	case 5: return 77;
	default: return 0;
	}
}

static void copy(char *to, const char *from, size_t size)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

int main(void)
{
	int numbers[40], sum = 0;
	char text[64] = "", from[64] = "copied";

	for (int i = 0; i < 40; i++)
		numbers[i] = i * 7919 % 101;
	qsort(numbers, 40, sizeof(int), compare);
	signal(SIGUSR1, count);
	signal(SIGSEGV, fault);
	raise(SIGUSR1);
	/* It has no handler and does not interrupt a system call. */
	raise(SIGCHLD);
	if (!sigsetjmp(back, 1))
		*(volatile int *) 8 = 1;
	for (int i = 0; i < 8; i++)
		sum += choose(i);
	copy(text, from, sizeof(from));
	usleep(1);
	printf("%d %d %d %d %s\n", numbers[0], numbers[39], deep(100), sum, text);
	return 7;
}
