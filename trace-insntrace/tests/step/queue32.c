/*
 * A 32-bit program without a library: it queues SIGTRAP for itself, with codes of the kernel's
 * traps, by both system calls. Exits with the number of signals that it got.
 */
struct action {
	void (*handler)(int);
	unsigned flags;
	void (*restorer)(void);
	unsigned mask[2];
};

enum { EXIT = 1, GETPID = 20, SIGACTION = 174, QUEUE = 178, GETTID = 224, QUEUE_THREAD = 335 };

static volatile int handled;

static int call(int number, int one, int two, int three, int four)
{
	int result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(one), "c"(two), "d"(three), "S"(four)
			 : "memory");
	return result;
}

static void handle(int signal)
{
	(void)signal;
	handled++;
}

void restore(void);
__asm__("restore: mov $173, %eax\n\tint $0x80");

void _start(void)
{
	/* TRAP_BRKPT, TRAP_TRACE, TRAP_HWBKPT, SIGTRAP, SI_KERNEL, SI_QUEUE */
	static const int codes[] = {1, 2, 4, 5, 0x80, -1};
	/* SA_SIGINFO, SA_RESTORER and SA_NODEFER: a blocked SIGTRAP would end the program. */
	struct action action = {handle, 0x44000004, restore, {0, 0}};
	int pid = call(GETPID, 0, 0, 0, 0), tid = call(GETTID, 0, 0, 0, 0);

	call(SIGACTION, 5, (int)&action, 0, 8);
	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		int information[32] = {5, 0, codes[i]};

		call(QUEUE_THREAD, pid, tid, 5, (int)information);
		call(QUEUE, pid, 5, (int)information, 0);
	}
	call(EXIT, handled, 0, 0, 0);
}
