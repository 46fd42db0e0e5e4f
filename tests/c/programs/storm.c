/* Loads and unloads a shared library while recordings start and stop. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <trace.h>

static int done;

static void *record(void *argument) {
    for (int round = 0; round < 40; round++) {
        trace_init();
        TRACE_INSTANT("storm", "recording", TRACE_SCOPE_THREAD);
        trace_shutdown();
    }
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    return argument;
}

int main(int count, char **arguments) {
    pthread_t thread;
    long loaded = 0;
    if (count != 2 || pthread_create(&thread, NULL, record, NULL) != 0) return 2;
    for (; !__atomic_load_n(&done, __ATOMIC_ACQUIRE) || loaded < 40; loaded++) {
        void *library = dlopen(arguments[1], RTLD_NOW);
        void *symbol = library ? dlsym(library, "plugin_work") : NULL;
        void (*work)(int);
        if (!symbol) return 3;
        memcpy(&work, &symbol, sizeof work);
        work(1);
        if (dlclose(library) != 0 || dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD)) return 4;
    }
    pthread_join(thread, NULL);
    trace_init();
    TRACE_INSTANT("storm", "over", TRACE_SCOPE_THREAD);
    trace_shutdown();
    return 0;
}
