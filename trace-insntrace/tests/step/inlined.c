/* Calls that the compiler inlines, and one that it does not. */
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

#ifdef OTHER
int other;
#endif

static volatile int sink;

NOINLINE static void leaf(int number)
{
	sink += number;
}

INLINE void innermost(int number)
{
	sink += number;
	leaf(number);
}

INLINE void inlined(int number)
{
	sink += number;
	innermost(number);
	leaf(number);
}

INLINE int added(int number)
{
	leaf(number);
	return sink;
}

NOINLINE static void outer(int number)
{
	inlined(number);
	sink = added(number) + added(number + 1);
	leaf(number);
	/* Otherwise a compiler may jump to the call before. */
	sink += number;
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		outer(i);
	return 0;
}
