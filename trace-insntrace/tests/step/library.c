/* A library with one function, whose name is an option of the compiler. */
#ifndef NAME
#define NAME of_library
#endif

static volatile int calls;

int NAME(int number)
{
	calls += number;
	return calls;
}
