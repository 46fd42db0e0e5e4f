/* Executes a program without random addresses and random hashes. */
#include <sys/personality.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char *environment[] = {"PYTHONHASHSEED=0", "PERL_HASH_SEED=0", 0};
	if (argc < 2 || personality(ADDR_NO_RANDOMIZE) == -1)
		return 1;
	execve(argv[1], argv + 1, environment);
	return 1;
}
