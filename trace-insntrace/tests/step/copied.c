/*
 * Makes system calls, and looks at R11, to which the processor copies the flags: the trap flag must
 * not be there. Ends with status 3, or with the number of the failed check. With the argument
 * "wait", a byte of the input is read before.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define TRAP_FLAG 0x100

static int fds[2];
static volatile int failed;

/* The trap flag in R11 after the last call. */
static unsigned long copied;

static long call(long number, long first, long second, long third)
{
	register unsigned long r11 __asm__("r11");
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result), "=r"(r11)
			 : "a"(number), "D"(first), "S"(second), "d"(third)
			 : "rcx", "memory");
	copied = r11 & TRAP_FLAG;
	return result;
}

static void check(int number, int is_right)
{
	if (!is_right && !failed)
		failed = number;
}

static unsigned long flag_in_frame(void *context)
{
	return ((ucontext_t *)context)->uc_mcontext.gregs[REG_R11] & TRAP_FLAG;
}

static void interrupted(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info;
	check(10, !flag_in_frame(context));
	write(fds[1], "x", 1);
}

/* Sets the flag in R11 of the code that it returns to, which may have any value there. */
static void sets(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info;
	check(11, !flag_in_frame(context));
	((ucontext_t *)context)->uc_mcontext.gregs[REG_R11] |= TRAP_FLAG;
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigaction(signal, &action, 0);
}

/* Returns whether a child finds no flag. */
static int child_has_none(long number, long flags)
{
	int status = -1;
	long child = call(number, flags, 0, 0);

	if (child == 0)
		call(SYS_exit, copied ? 1 : 5, 0, 0);
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5;
}

/* The child ends before it returns: it has the stack of its parent. */
static int sharing_child_has_none(void)
{
	int status = -1;
	long child;

	__asm__ volatile("syscall\n\ttest %%eax, %%eax\n\tjnz 1f\n\t"
			 "mov %%r11d, %%edi\n\tand $0x100, %%edi\n\tshr $8, %%edi\n\t"
			 "mov $60, %%eax\n\tsyscall\n1:"
			 : "=a"(child)
			 : "a"(SYS_clone), "D"(CLONE_VM | CLONE_VFORK | SIGCHLD), "S"(0), "d"(0)
			 : "rcx", "r11", "memory", "cc");
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	struct itimerval alarm = {.it_value = {.tv_usec = 20000}};
	char byte;

	if (argc > 1 && !strcmp(argv[1], "wait")) {
		write(1, "x", 1);
		read(0, &byte, 1);
	}
	check(20, call(SYS_getpid, 0, 0, 0) > 0 && !copied);
	check(21, call(-1, 0, 0, 0) < 0 && !copied);
	check(22, call(SYS_execve, (long)"/missing", 0, 0) < 0 && !copied);
	pipe(fds);
	handle(SIGALRM, interrupted);
	setitimer(ITIMER_REAL, &alarm, 0);
	/* It is executed again. */
	check(23, call(SYS_read, fds[0], (long)&byte, 1) == 1 && !copied);
	handle(SIGUSR1, sets);
	check(24, !call(SYS_tkill, call(SYS_gettid, 0, 0, 0), SIGUSR1, 0) && copied);
	check(25, child_has_none(SYS_fork, 0));
	check(26, child_has_none(SYS_clone, CLONE_UNTRACED | SIGCHLD));
	check(27, sharing_child_has_none());
	return failed ? failed : 3;
}
