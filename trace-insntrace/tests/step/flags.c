/*
 * Loads flags by popf, which the kernel treats as the program's own trap flag if it is stepped.
 * The argument selects what the program does between the first byte and the end of its input.
 * Ends with status 3, or 9 if a child was killed.
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void load_flags(void)
{
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\tpopfq\n\tadd $128, %%rsp" ::: "cc", "memory");
}

/* Returns the flags that a system call has copied to R11. */
static unsigned long copied_flags(void)
{
	register unsigned long r11 __asm__("r11");
	long number = SYS_getpid;

	__asm__ volatile("syscall" : "+a"(number), "=r"(r11)::"rcx", "memory");
	return r11;
}

/* Instructions follow, which a trap flag would stop. */
static void load(unsigned long flags)
{
	__asm__ volatile("sub $128, %%rsp\n\tpush %0\n\tpopfq\n\tnop\n\tadd $128, %%rsp"
			 :: "r"(flags) : "cc", "memory");
}

static int has_input(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	return poll(&input, 1, 0) != 0;
}

static void handler(int signal)
{
	(void)signal;
	while (!has_input())
		;
}

/* Returns whether a child ends as it should. */
static int fork_child(void)
{
	int status = -1;
	pid_t child = fork();
	if (child == 0)
		_exit(5);
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	char byte;

	signal(SIGUSR1, handler);
	write(1, "x", 1);
	read(0, &byte, 1);
	if (strcmp(mode, "fork") == 0) {
		for (int i = 0; i < 3; i++) {
			load_flags();
			if (!fork_child())
				return 9;
		}
	} else if (strcmp(mode, "signal") == 0) {
		load_flags();
		raise(SIGUSR1);
	} else if (strcmp(mode, "copied") == 0) {
		unsigned long flags = copied_flags();

		while (!has_input())
			;
		load(flags);
	} else {
		while (!has_input())
			load_flags();
	}
	return 3;
}
