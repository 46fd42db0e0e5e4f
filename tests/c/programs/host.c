/* Loads and unloads shared libraries before, in and between recordings. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <trace.h>

static void *load(const char *path, int number) {
    void *library = dlopen(path, RTLD_NOW);
    void (*work)(int);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    void *symbol = dlsym(library, "plugin_work");
    memcpy(&work, &symbol, sizeof work);
    work(number);
    return library;
}

static void unload(void *library, const char *path) {
    if (dlclose(library) != 0 || dlopen(path, RTLD_NOW | RTLD_NOLOAD)) {
        fprintf(stderr, "%s is still loaded\n", path);
        exit(1);
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    const char *one = arguments[1], *other = arguments[2];
    void *before = load(one, 1);
    trace_init();
    TRACE_INSTANT("host", "started", TRACE_SCOPE_THREAD);
    load(one, 2);
    void *during = load(other, 3);
    unload(during, other);
    for (int i = 0; i < 50; i++) unload(load(other, 4), other);
    void *at_the_end = load(other, 5);
    (void)at_the_end;
    dlclose(before);
    dlclose(before);
    trace_shutdown();
    if (dlopen(one, RTLD_NOW | RTLD_NOLOAD)) return 3;
    TRACE_INSTANT("host", "never", TRACE_SCOPE_THREAD);
    /* The sites of unloaded libraries are not accessed. */
    setenv("TRACE_OUTPUT", "second.fxt", 1);
    trace_init();
    TRACE_INSTANT("host", "second", TRACE_SCOPE_THREAD);
    load(one, 6);
    trace_shutdown();
    return 0;
}
