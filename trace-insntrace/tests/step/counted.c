/* Executes 14 instructions, and exits with 5. It has no library: -nostdlib. */
__asm__(".text\n"
	".globl _start\n"
	"_start: mov $5, %ecx\n"
	"1: dec %ecx\n"
	"jnz 1b\n"
	"mov $60, %eax\n"
	"mov $5, %edi\n"
	"syscall\n");
