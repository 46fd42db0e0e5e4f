/*
 * Executes code that was at its addresses before.
 *
 *     returns unmapped    other code where code was unmapped, and much code in between
 *     returns restored    code that was another one, which was not executed, in between
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096
/* More pages than are kept of code that is not mapped any more. */
#define PAGES 3600

typedef int function(void);

/* mov eax, 1; ret */
static const char ONE[] = "\xb8\x01\0\0\0\xc3";
/* xor eax, eax; inc eax; inc eax; ret */
static const char TWO[] = "\x31\xc0\xff\xc0\xff\xc0\xc3";

static unsigned char *map(uintptr_t address)
{
	return mmap((void *)address, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static int run(unsigned char *code)
{
	return ((function *)code)();
}

static int execute_at(uintptr_t address, const char *code, size_t size)
{
	unsigned char *page = map(address);
	int result;

	memcpy(page, code, size);
	result = run(page);
	munmap(page, PAGE);
	return result;
}

static int unmapped(void)
{
	uintptr_t address = 0x100000000;
	int sum = execute_at(address, ONE, sizeof(ONE));

	for (int i = 1; i < PAGES; i++)
		sum += execute_at(address + i * 0x10000UL, ONE, sizeof(ONE));
	sum += execute_at(address, TWO, sizeof(TWO));
	return sum == PAGES + 2;
}

static int restored(void)
{
	unsigned char *code = map(0x100000000), *behind = code + 64;
	int sum = 0;

	for (int i = 0; i < 3; i++, behind += 64) {
		memcpy(code, ONE, sizeof(ONE));
		sum += run(code);
		memcpy(code, TWO, sizeof(TWO));
		memcpy(behind, TWO, sizeof(TWO));
		sum += run(behind);
		memcpy(code, ONE, sizeof(ONE));
		sum += run(code);
	}
	return sum == 3 * 4;
}

int main(int count, char **arguments)
{
	if (count != 2)
		return 1;
	return (strcmp(arguments[1], "unmapped") ? restored() : unmapped()) ? 3 : 1;
}
