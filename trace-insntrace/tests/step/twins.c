/*
 * A program of several files, each with a function of the same name that only the file has. Each
 * file is this one, with the number PART, and the file without it has `main`.
 */
#define JOIN(a, b) a##b
#define CALLS(number) JOIN(calls_, number)

#ifdef PART
static volatile int sink;

__attribute__((noinline)) static int twin(int number)
{
	sink += number + PART;
	return sink;
}

void CALLS(PART)(void)
{
	twin(1);
	twin(2);
}
#else
#include <stdio.h>

#define EACH(part) \
	__attribute__((weak)) void CALLS(part)(void);
EACH(1) EACH(2) EACH(3) EACH(4) EACH(5)

static volatile int sink;

__attribute__((noinline)) int known(int number)
{
	sink += number;
	return sink;
}

int other_name(int number) __attribute__((alias("known")));

static int chosen(int number)
{
	return number + sink;
}

static void *choose(void)
{
	return chosen;
}

/* The dynamic linker calls `choose`, and the program calls what that returns. */
int indirect(int number) __attribute__((ifunc("choose")));

int main(void)
{
	void (*parts[])(void) = { CALLS(1), CALLS(2), CALLS(3), CALLS(4), CALLS(5) };

	for (int i = 0; i < 5; i++)
		if (parts[i])
			parts[i]();
	known(1);
	known(2);
	printf("%d\n", indirect(1));
	return 5;
}
#endif
