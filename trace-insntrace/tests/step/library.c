/* A library with one function. */
#ifndef NUMBER
#define NUMBER 1
#endif

static volatile int calls;

int of_library(int number)
{
	calls += number * NUMBER;
	return calls;
}
