/*
 * Calls functions of libraries that are mapped one after the other. Arguments: paths, each with the
 * name of the function. Prints the addresses.
 */
#include <dlfcn.h>
#include <stdio.h>

typedef int function(int number);

int main(int count, char **arguments)
{
	for (int i = 1; i + 1 < count; i += 2) {
		void *library = dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL);
		function *function = library ? dlsym(library, arguments[i + 1]) : NULL;
		if (!function)
			return 1;
		printf("%p\n", (void *)function);
		fflush(stdout);
		function(1);
		dlclose(library);
	}
	return 0;
}
