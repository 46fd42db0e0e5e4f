/* Calls and scopes that are traced apart from each other. */
#include <setjmp.h>

static jmp_buf before;
static volatile int number;

/* As those of `trace-runtime`. */
#define ANNOUNCE(name, symbol)                                                                     \
	void name(void) __asm__(symbol);                                                           \
	__attribute__((noinline)) void name(void)                                                  \
	{                                                                                          \
		number++;                                                                          \
	}
ANNOUNCE(scope_begins, "_ZN13trace_runtime5point8announce12scope_begins17h0000000000000001E")
ANNOUNCE(scope_ends, "_ZN13trace_runtime5point8announce10scope_ends17h0000000000000002E")

__attribute__((noinline)) void leaf(void)
{
	number++;
}

__attribute__((noinline)) void jumps(void)
{
	leaf();
	longjmp(before, 1);
}

__attribute__((noinline)) void left(void)
{
	jumps();
	number++;
}

__attribute__((noinline)) void scope(void)
{
	scope_begins();
	leaf();
	scope_ends();
	number++;
}

int main(void)
{
	for (volatile int i = 0; i < 4; i++) {
		if (!setjmp(before))
			left();
		leaf();
		scope();
	}
	return 4;
}
