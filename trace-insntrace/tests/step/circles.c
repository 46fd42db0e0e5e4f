/* Executes direct jumps and calls in a circle, without a branch that depends on data. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms;

static void handler(int signal)
{
	(void)signal;
	if (++alarms == 5)
		_exit(6);
}

static void circle(const char *name)
{
	if (!strcmp(name, "self"))
		__asm__ volatile("1: jmp 1b");
	if (!strcmp(name, "two"))
		__asm__ volatile("1: nop; jmp 1b");
	if (!strcmp(name, "four"))
		__asm__ volatile("1: inc %%rax; inc %%rbx; inc %%rcx; jmp 1b" ::: "rax", "rbx", "rcx");
	if (!strcmp(name, "several"))
		__asm__ volatile("1: nop; jmp 3f; 2: jmp 1b; 3: nop; jmp 2b");
	if (!strcmp(name, "inside"))
		__asm__ volatile("nop; jmp 2f; 1: nop; nop; 2: nop; nop; jmp 1b");
	if (!strcmp(name, "call"))
		__asm__ volatile("jmp 1f; 2: add $8, %rsp; 1: nop; call 2b");
}

/* Arguments: the circle, and whether there are alarms. */
int main(int count, char **arguments)
{
	struct itimerval timer = {{0, 20000}, {0, 20000}};

	signal(SIGALRM, handler);
	if (count > 2)
		setitimer(ITIMER_REAL, &timer, NULL);
	if (write(1, "x", 1) == 1)
		circle(arguments[1]);
	return 1;
}
