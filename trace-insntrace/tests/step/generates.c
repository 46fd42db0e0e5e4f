/*
 * Executes generated code at new addresses again and again. The arguments are the number of times, and the bytes of the code.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* No block of the engine is as long. */
#define DEFAULT_SIZE 1024

typedef int function(void);

int main(int count, char **arguments)
{
	uintptr_t address = 0x100000000;
	int rounds = count > 1 ? atoi(arguments[1]) : 0, sum = 0;
	size_t size = count > 2 ? atoi(arguments[2]) : DEFAULT_SIZE;

	for (int i = 0; i < rounds; i++, address += 0x10000) {
		unsigned char *code = mmap((void *)address, size, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

		if (code == MAP_FAILED)
			return 1;
		/* mov eax, 1; nop...; ret */
		memset(code, 0x90, size);
		memcpy(code, "\xb8\x01\0\0", 5);
		code[size - 1] = 0xc3;
		if (mprotect(code, size, PROT_READ | PROT_EXEC))
			return 1;
		sum += ((function *)code)();
		if (munmap(code, size))
			return 1;
	}
	return sum == rounds ? 3 : 1;
}
