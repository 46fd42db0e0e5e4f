/* Announced scopes that are interrupted at the first instruction of their functions. */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#define PAGE 4096

/* Their first instructions read memory that is not readable. */
__asm__(".text\n"
	".globl _ZN13trace_runtime5point8announce12scope_begins17h0000000000000001E\n"
	".type _ZN13trace_runtime5point8announce12scope_begins17h0000000000000001E, @function\n"
	"_ZN13trace_runtime5point8announce12scope_begins17h0000000000000001E:\n"
	"scope_begins: movb guard(%rip), %al\n"
	"ret\n"
	".size _ZN13trace_runtime5point8announce12scope_begins17h0000000000000001E, . - scope_begins\n"
	".globl _ZN13trace_runtime5point8announce10scope_ends17h0000000000000002E\n"
	".type _ZN13trace_runtime5point8announce10scope_ends17h0000000000000002E, @function\n"
	"_ZN13trace_runtime5point8announce10scope_ends17h0000000000000002E:\n"
	"scope_ends: movb guard(%rip), %al\n"
	"ret\n"
	".size _ZN13trace_runtime5point8announce10scope_ends17h0000000000000002E, . - scope_ends\n");

extern void scope_begins(void);
extern void scope_ends(void);

char guard[PAGE] __attribute__((aligned(PAGE)));
static volatile unsigned long sink;
static volatile int faults;

static void protect(int protection)
{
	mprotect(guard, PAGE, protection);
}

static void handler(int signal)
{
	sink += signal;
	faults++;
	protect(PROT_READ);
}

static void work(int number)
{
	for (int i = 0; i < number; i++)
		sink++;
}

int main(void)
{
	signal(SIGSEGV, handler);
	protect(PROT_NONE);
	scope_begins();
	protect(PROT_NONE);
	scope_begins();
	protect(PROT_NONE);
	scope_ends();
	work(300);
	scope_ends();
	work(20000);
	puts("done");
	return faults;
}
