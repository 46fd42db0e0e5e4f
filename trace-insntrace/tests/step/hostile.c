/*
 * Code that is hard to trace with breakpoints. The argument selects a part; prints "ok" if the part
 * did what it does untraced.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static sigjmp_buf back;

static void count(int signal)
{
	(void)signal;
	handled++;
}

static void escape(int signal)
{
	handled++;
	siglongjmp(back, signal);
}

__attribute__((noinline)) static int sum_to(int limit)
{
	volatile int sum = 0;
	for (int i = 1; i <= limit; i++)
		sum += i;
	return sum;
}

/* A loop that returns `value` after some turns: mov eax, value; mov ecx, 5; dec ecx; jnz; ret. */
static void write_loop(unsigned char *code, int value)
{
	memcpy(code, "\xb8....\xb9\x05\0\0\0\xff\xc9\x75\xfc\xc3", 15);
	memcpy(code + 1, &value, 4);
}

static int call(void *code)
{
	return ((int (*)(void))code)();
}

/* Code that is written while it is not executable. */
static int generated(void)
{
	unsigned char *code =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int good = 1;
	for (int i = 0; i < 4; i++) {
		mprotect(code, 8192, PROT_READ | PROT_WRITE);
		/* At the same address, a branch of the one before is another part of the code. */
		write_loop(code + i % 2, i);
		code[0] = i % 2 ? 0x90 : code[0];
		mprotect(code, 8192, PROT_READ | PROT_EXEC);
		good &= call(code) == i && call(code) == i;
	}
	/* Other code in its place. */
	code = mmap(code, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	write_loop(code, 77);
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	good &= call(code) == 77;
	munmap(code, 4096);
	return good;
}

/* Code of a file that others may map. */
static int shared(void)
{
	unsigned char original[64], found[64];
	FILE *file = tmpfile();
	int descriptor = fileno(file);
	memset(original, 0x90, sizeof(original));
	write_loop(original, 5);
	if (write(descriptor, original, sizeof(original)) != sizeof(original))
		return 0;
	int good = 1;
	for (int kind = 0; kind < 2; kind++) {
		void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, kind ? MAP_PRIVATE : MAP_SHARED,
				  descriptor, 0);
		good &= code != MAP_FAILED && call(code) == 5 && call(code) == 5;
		good &= pread(descriptor, found, 64, 0) == 64 && memcmp(original, found, 64) == 0;
	}
	/* Two views of the same memory. */
	descriptor = memfd_create("code", 0);
	ftruncate(descriptor, 4096);
	unsigned char *view = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0);
	for (int i = 0; i < 3; i++) {
		write_loop(view, i);
		good &= call(code) == i;
	}
	return good;
}

static int ends_with(pid_t child, int expected)
{
	int status = -1;
	return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == expected;
}

static int in_clone(void *argument)
{
	*(int *)argument = sum_to(20);
	return sum_to(3);
}

/* Children that get a copy of the code, or the code itself. */
static int children(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int good = sum_to(10) == 55, result = 0;
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();
		if (child == 0)
			_exit(sum_to(10) == 55 ? 5 : 6);
		good &= sum_to(10) == 55 && ends_with(child, 5);
	}
	pid_t child = vfork();
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", "exit 4", (char *)NULL);
		_exit(1);
	}
	good &= ends_with(child, 4);
	child = vfork();
	if (child == 0)
		_exit(sum_to(10) == 55 ? 3 : 4);
	good &= ends_with(child, 3) && sum_to(10) == 55;
	child = clone(in_clone, stack + sizeof(stack), CLONE_VM | SIGCHLD, &result);
	good &= sum_to(10) == 55 && ends_with(child, 6) && result == 210;
	child = clone(in_clone, stack + sizeof(stack), CLONE_VM | CLONE_UNTRACED | SIGCHLD, &result);
	good &= sum_to(10) == 55 && ends_with(child, 6);
	return good;
}

static void *work(void *argument)
{
	int *result = argument;
	for (int i = 0; i < 20; i++)
		*result += sum_to(30);
	return NULL;
}

static volatile int is_over;

static void *work_on(void *argument)
{
	while (!is_over)
		work(argument);
	return NULL;
}

/* Threads in the same code, while another one forks. */
static int sums_and(int (*meanwhile)(void))
{
	pthread_t thread[4];
	int results[4] = {0}, good = 1;
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work, &results[i]);
	good &= meanwhile();
	pid_t child = fork();
	if (child == 0)
		_exit(sum_to(10) == 55 ? 5 : 6);
	good &= ends_with(child, 5);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		good &= results[i] == 20 * 465;
	}
	return good;
}

static int sum(void)
{
	return sum_to(30) == 465;
}

static int sums(void)
{
	return sums_and(sum);
}

static int threads(void)
{
	return sums_and(generated);
}

static pthread_t first;

static void *outlive(void *unused)
{
	pthread_t thread[3];
	int results[3] = {0}, good = 1;
	(void)unused;
	pthread_join(first, NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, work, &results[i]);
	for (int i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		good &= results[i] == 20 * 465;
	}
	puts(good ? "ok" : "failed");
	exit(0);
}

/* The first thread ends before all others. */
static int exits(void)
{
	pthread_t thread;
	first = pthread_self();
	pthread_create(&thread, NULL, outlive, NULL);
	return (int)syscall(SYS_exit, 0);
}

/* Signals at any instruction. */
static int signals(void)
{
	struct itimerval interval = {{0, 3000}, {0, 3000}};
	signal(SIGALRM, count);
	setitimer(ITIMER_REAL, &interval, NULL);
	while (handled < 10)
		if (sum_to(30) != 465)
			return 0;
	interval.it_value.tv_usec = 0;
	setitimer(ITIMER_REAL, &interval, NULL);
	return 1;
}

/* Queues a signal for this thread, with the codes of the kernel's traps. */
static void queue_traps(void)
{
	const int codes[] = {TRAP_BRKPT, TRAP_TRACE, TRAP_HWBKPT, SIGTRAP, SI_KERNEL, SI_QUEUE};
	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		siginfo_t information = {.si_signo = SIGTRAP, .si_code = codes[i]};
		syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGTRAP, &information);
		syscall(SYS_rt_sigqueueinfo, getpid(), SIGTRAP, &information);
	}
}

/* Some virtual machines leave the instruction pointer at int1, which would be executed for ever. */
static void leave_int1(int signal, siginfo_t *information, void *context)
{
	greg_t *ip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	(void)signal, (void)information;
	handled++;
	*ip += *(unsigned char *)*ip == 0xf1;
}

/* Breakpoints and traps of the program itself. */
static int traps(void)
{
	/* A blocked SIGTRAP would end the program. */
	struct sigaction action = {.sa_sigaction = leave_int1, .sa_flags = SA_NODEFER | SA_SIGINFO};
	sigaction(SIGTRAP, &action, NULL);
	for (int i = 0; i < 3; i++) {
		raise(SIGTRAP);
		__asm__ volatile("int3");
		kill(getpid(), SIGTRAP);
		__asm__ volatile(".byte 0xf1"); /* int1 */
		queue_traps();
	}
	return handled == 3 * (4 + 2 * 6);
}

static int recurse(int depth)
{
	volatile char space[512];
	space[0] = (char)depth;
	return depth < 0 ? 0 : recurse(depth + 1) + space[0];
}

/* Branches that are errors. */
static int faults(void)
{
	static char stack[65536];
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = escape, .sa_flags = SA_ONSTACK | SA_NODEFER};
	void *volatile none = NULL;
	void *volatile far = (void *)0x8000000000000000;
	sigaltstack(&other, NULL);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGILL, &action, NULL);
	for (volatile int i = 0; i < 2; i++) {
		if (!sigsetjmp(back, 1))
			call(none);
		if (!sigsetjmp(back, 1))
			call(far);
		if (!sigsetjmp(back, 1))
			__asm__ volatile("call *8");
		if (!sigsetjmp(back, 1))
			__asm__ volatile("mov %0, %%rsp\n\tret" : : "r"(8L));
		if (!sigsetjmp(back, 1))
			__asm__ volatile("mov %0, %%rsp\n\tcall *%1" : : "r"(8L), "r"(sum_to));
		if (!sigsetjmp(back, 1))
			__asm__ volatile("ud2");
	}
	if (!sigsetjmp(back, 1))
		recurse(0);
	return handled == 13;
}

/* Calls of 32-bit programs. */
static int old_calls(void)
{
	int id = 0;
	struct sigaction action = {.sa_handler = escape, .sa_flags = SA_NODEFER};
	sigaction(SIGSEGV, &action, NULL);
	if (sigsetjmp(back, 1))
		return 1; /* The kernel has none. */
	for (int i = 0; i < 3; i++)
		__asm__ volatile("int $0x80" : "=a"(id) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
	return id == getpid() && sum_to(10) == 55;
}

/* A program that would be traced by another, and loads its flags. */
static int tracing(void)
{
	errno = 0;
	int good = ptrace(PTRACE_TRACEME, 0, 0, 0) == -1 && errno == EPERM;
	for (int i = 0; i < 3; i++)
		__asm__ volatile("pushfq\n\tpopfq\n\tpushfq\n\tpopfq" ::: "cc");
	return good && sum_to(10) == 55;
}

/* A program that would trace its tracer, once there is a line of input. */
static int tracing_back(void)
{
	char line[256];
	int tracer = 0;
	FILE *status;
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin) || !(status = fopen("/proc/self/status", "r")))
		return 0;
	while (fgets(line, sizeof(line), status))
		sscanf(line, "TracerPid: %d", &tracer);
	fclose(status);
	errno = 0;
	return tracer && ptrace(PTRACE_SEIZE, tracer, 0, 0) == -1 && errno == EPERM;
}

/* All signals blocked or ignored, and no descriptors but the output. */
static int masks(void)
{
	sigset_t all;
	sigfillset(&all);
	for (int i = 1; i < 64; i++)
		if (i != SIGCHLD)
			signal(i, SIG_IGN);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < 100; i++)
		if (i != 1)
			close(i);
	return sum_to(30) == 465 && children();
}

/* A jump to itself ends by a signal only, and a loop has no other branch. */
static int spins(void)
{
	struct itimerval once = {{0, 0}, {0, 20000}};
	signal(SIGALRM, escape);
	for (volatile int i = 0; i < 2; i++) {
		setitimer(ITIMER_REAL, &once, NULL);
		if (!sigsetjmp(back, 1))
			__asm__ volatile("1: jmp 1b");
		setitimer(ITIMER_REAL, &once, NULL);
		if (!sigsetjmp(back, 1))
			__asm__ volatile("1: nop\n\tjmp 2f\n2: nop\n\tjmp 1b");
	}
	return handled == 4;
}

/*
 * A restartable sequence, which the kernel aborts at each stop: it then continues behind the
 * signature.
 */
static int restartable(void)
{
	/* glibc has them from 2.35 on. */
	extern const ptrdiff_t __rseq_offset __attribute__((weak));
	extern const unsigned int __rseq_size __attribute__((weak));
	int finished = 0, aborted = 0;
	if (!&__rseq_size || !__rseq_size)
		return 1;
	uint64_t *area = (uint64_t *)((char *)__builtin_thread_pointer() + __rseq_offset + 8);
	for (int i = 0; i < 50; i++) {
		int done;
		__asm__ volatile(".pushsection .data.rseq, \"aw\"\n\t"
				 ".balign 32\n"
				 "1: .long 0, 0\n\t"
				 ".quad 2f, 3f - 2f, 4f\n\t"
				 ".popsection\n\t"
				 "xor %0, %0\n\t"
				 "lea 1b(%%rip), %%rax\n\t"
				 "mov %%rax, %1\n"
				 "2: mov $20, %%ecx\n"
				 "5: dec %%ecx\n\t"
				 "jnz 5b\n\t"
				 "mov $1, %0\n"
				 "3: jmp 6f\n\t"
				 ".byte 0x0f, 0xb9, 0x3d\n\t"
				 ".long 0x53053053\n"
				 "4: mov $2, %0\n"
				 "6: movq $0, %1\n\t"
				 : "=&b"(done), "+m"(*area)
				 :
				 : "rax", "rcx", "memory", "cc");
		finished += done == 1;
		aborted += done == 2;
	}
	return finished + aborted == 50 && sum_to(10) == 55;
}

/* A call that no tracer can interrupt, until there is input. */
static int in_vfork(void)
{
	char byte;
	puts("ready");
	fflush(stdout);
	pid_t child = vfork();
	if (child == 0)
		_exit(read(0, &byte, 1) == 1 ? 5 : 6);
	return ends_with(child, 5);
}

/* Threads that run until there is input. */
static int endless(void)
{
	pthread_t thread[2];
	int result = 0;
	char byte;
	write(1, "x", 1);
	for (int i = 0; i < 2; i++) {
		int *results = calloc(1, sizeof(int));
		pthread_create(&thread[i], NULL, work_on, results);
	}
	read(0, &byte, 1);
	is_over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 5; i++)
		result += sum_to(10) == 55;
	exit(result == 5 ? 3 : 4);
}

/* An instruction that begins inside of another one. */
static int overlapping(void)
{
	int value = 0;
	for (int i = 0; i < 3; i++)
		/* The operand of mov is: nop; jmp over the next mov. */
		__asm__ volatile("xor %0, %0\n\t"
				 "test %1, %1\n\t"
				 "jz 1f\n\t"
				 "jmp 1f + 1\n"
				 "1: .byte 0xb8, 0x90, 0xeb, 0x06, 0x90\n\t"
				 "mov $7, %0\n\t"
				 "nop\n\t"
				 : "=&c"(value)
				 : "d"(i & 1)
				 : "eax", "cc");
	return value == 7;
}

static const struct {
	const char *name;
	int (*part)(void);
} parts[] = {
	{"generated", generated}, {"shared", shared},	{"children", children},
	{"sums", sums},		  {"threads", threads},	  {"signals", signals}, {"traps", traps},
	{"faults", faults},	  {"old calls", old_calls}, {"tracing", tracing},
	{"masks", masks},	  {"spins", spins},	  {"overlapping", overlapping},
	{"restartable", restartable}, {"endless", endless}, {"tracing back", tracing_back},
	{"in vfork", in_vfork},	  {"exits", exits},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(parts) / sizeof(*parts); i++)
		if (strcmp(parts[i].name, argv[1]) == 0)
			puts(parts[i].part() ? "ok" : "failed");
	return 0;
}
