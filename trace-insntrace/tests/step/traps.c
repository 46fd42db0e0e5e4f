/*
 * Handles its own breakpoints, and blocks SIGTRAP meanwhile. Ends with the number of the signals, or
 * with 100 and more if the mask of signals is not what it is without a tracer.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t traps, alarms;
static volatile int wrong;

/* Checks whether SIGTRAP is blocked, by the mask that the kernel returns. */
static void check(int expected, int error)
{
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	if (sigismember(&mask, SIGTRAP) != expected && !wrong)
		wrong = error;
}

static void trap(int signal, siginfo_t *info, void *context)
{
	traps++;
	for (volatile int i = 0; i < 20; i++)
		;
	check(1, 101);
}

/* Interrupts code that blocks SIGTRAP: the frame has the mask of that code. */
static void usr1(int signal, siginfo_t *info, void *context)
{
	alarms++;
	if (!sigismember(&((ucontext_t *)context)->uc_sigmask, SIGTRAP))
		wrong = 102;
	check(1, 103);
}

static void *inherits(void *argument)
{
	check(1, 104);
	return argument;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = trap, .sa_flags = SA_SIGINFO };
	sigset_t mask, old;
	pthread_t thread;
	struct timespec moment = { .tv_nsec = 1000 };

	sigaction(SIGTRAP, &action, NULL);
	action.sa_sigaction = usr1;
	sigaction(SIGUSR1, &action, NULL);
	__asm__ volatile("int3");
	__asm__ volatile("int3");
	check(0, 105);

	sigemptyset(&mask);
	sigaddset(&mask, SIGTRAP);
	sigprocmask(SIG_BLOCK, &mask, &old);
	if (sigismember(&old, SIGTRAP))
		wrong = 106;
	check(1, 107);
	raise(SIGUSR1);
	check(1, 108);
	pthread_create(&thread, NULL, inherits, NULL);
	pthread_join(thread, NULL);
	/* Blocked, it waits. */
	kill(getpid(), SIGTRAP);
	nanosleep(&moment, NULL);
	if (traps != 2)
		wrong = 109;
	/* A mask for the time of the call. */
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	raise(SIGUSR1);
	sigdelset(&mask, SIGUSR1);
	sigsuspend(&mask);
	check(1, 110);
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_SETMASK, &old, NULL);
	check(0, 111);
	if (traps != 3)
		wrong = 112;
	if (alarms != 2)
		wrong = 113;
	__asm__ volatile("int3");
	return wrong ? wrong : traps;
}
