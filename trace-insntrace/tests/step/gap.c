/* Executes 32-bit code in a program of 64 bits. Exits with 9 if it was executed. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* A page that both can address: code, and at 64 the stack pointer and a far pointer. */
struct page {
	uint8_t old[32], back[32];
	uint64_t stack;
	uint32_t to;
	uint16_t segment;
};

int visit(struct page *page);

__asm__("visit:\n\t"
	"push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
	"mov %rsp, 64(%rdi)\n\t"
	"xor %eax, %eax\n\t"
	"ljmp *72(%rdi)\n");

int main(void)
{
	/* inc eax; nop; inc eax; jmp 0x33:back */
	uint8_t old[] = {0x40, 0x90, 0x40, 0xea, 0, 0, 0, 0, 0x33, 0};
	/* mov rsp, stack; pop r15, r14, r13, r12, rbp and rbx; ret */
	static const uint8_t back[] = {0x48, 0x8b, 0x25, 25, 0, 0, 0, 0x41, 0x5f,
				       0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3};
	int access = PROT_READ | PROT_WRITE | PROT_EXEC;
	struct page *page = mmap(NULL, 4096, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (page == MAP_FAILED)
		return 1;
	uint32_t target = (uint32_t)(uintptr_t)page->back;
	memcpy(old + 4, &target, sizeof(target));
	memcpy(page->old, old, sizeof(old));
	memcpy(page->back, back, sizeof(back));
	page->to = (uint32_t)(uintptr_t)page->old;
	page->segment = 0x23;
	return visit(page) == 2 ? 9 : 1;
}
