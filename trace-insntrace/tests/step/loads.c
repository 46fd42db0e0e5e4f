/*
 * Calls a function of libraries, which are the arguments: of each one after the other, at two
 * addresses, and then of all of them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>

#define LIBRARIES 8

typedef int function(int number);

static function *load(const char *path, void **library)
{
	*library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return *library ? (function *)dlsym(*library, "of_library") : NULL;
}

int main(int count, char **paths)
{
	void *library[LIBRARIES];
	function *functions[LIBRARIES];
	int calls = 0;

	for (int i = 1; i < count; i++) {
		for (int round = 0; round < 2; round++) {
			Dl_info found;
			function *function = load(paths[i], &library[i]);
			if (!function || !dladdr((void *)function, &found))
				return 1;
			calls += function(1) > 0;
			dlclose(library[i]);
			/* The next one is mapped elsewhere. */
			if (round == 0)
				mmap(found.dli_fbase, 1 << 14, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		}
	}
	for (int i = 1; i < count; i++)
		functions[i] = load(paths[i], &library[i]);
	for (int i = 1; i < count; i++)
		calls += functions[i](1) > 0;
	printf("%d calls\n", calls);
	return 5;
}
