/* Forks, threads, and signal handlers. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

static int in_child(int number) {
    TRACE_INSTANT("fork", "without a provider", TRACE_SCOPE_THREAD);
    if (number == 1) {
        trace_init();
        TRACE_INSTANT("fork", "child", TRACE_SCOPE_THREAD);
        trace_shutdown();
    }
    return TRACE_ENABLED() ? 1 : 0;
}

static int forks(void) {
    int status = 0;
    TRACE_DURATION("fork", "parent");
    for (int number = 0; number < 2; number++) {
        pid_t child = fork();
        if (child == 0) exit(in_child(number));
        if (waitpid(child, &status, 0) != child || status != 0) return 1;
        if (number == 1) printf("%d\n", child);
    }
    TRACE_INSTANT("fork", "after", TRACE_SCOPE_THREAD);
    return 0;
}

static void *thread(void *argument) {
    int number = *(const int *)argument;
    for (int round = 0; round < 1000; round++) {
        TRACE_DURATION("threads", "scope", "thread", number);
        TRACE_COUNTER("threads", "rounds", (uint64_t)number, "round", round);
    }
    return NULL;
}

static int threads(void) {
    pthread_t handles[4];
    int numbers[4] = {0, 1, 2, 3};
    for (int i = 0; i < 4; i++)
        if (pthread_create(&handles[i], NULL, thread, &numbers[i]) != 0) return 1;
    for (int i = 0; i < 4; i++) pthread_join(handles[i], NULL);
    return 0;
}

static volatile sig_atomic_t handled;

static void handler(int signal) {
    TRACE_DURATION("signals", "handler", "signal", signal);
    handled = handled + 1;
}

static int signals(void) {
    signal(SIGUSR1, handler);
    raise(SIGUSR1); /* The thread's first record. */
    for (int i = 0; i < 999; i++) {
        TRACE_DURATION("signals", "interrupted", "text", "some text that takes a while to copy");
        raise(SIGUSR1);
    }
    return handled == 1000 ? 0 : 1;
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    trace_init();
    int failed = strcmp(arguments[1], "fork") == 0 ? forks() : strcmp(arguments[1], "threads") == 0 ? threads() : signals();
    /* exit() is enough for what was recorded to be kept. */
    return failed;
}
