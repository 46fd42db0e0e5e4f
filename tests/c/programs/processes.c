/* Forks, threads, signal handlers, jumps out of them, and a thread that makes no system call. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

static sigjmp_buf again;
static volatile sig_atomic_t jumped, is_over;

static void jump(int signal) {
    (void)signal;
    if (is_over) return;
    jumped = jumped + 1;
    siglongjmp(again, 1);
}

static void *interrupt(void *target) {
    while (!is_over) {
        pthread_kill(*(const pthread_t *)target, SIGUSR2);
        usleep(20);
    }
    return NULL;
}

static void *after(void *argument) {
    for (int i = 0; i < 10000; i++) TRACE_INSTANT("jumps", "after", TRACE_SCOPE_THREAD);
    return argument;
}

/* Prints how often a handler jumped, and how many rounds began. */
static int jumps(void) {
    static volatile int rounds;
    pthread_t interrupter, other, self = pthread_self();
    signal(SIGUSR2, jump);
    (void)sigsetjmp(again, 1);
    if (jumped == 0 && pthread_create(&interrupter, NULL, interrupt, &self) != 0) return 1;
    while (jumped < 500) {
        rounds = rounds + 1;
        TRACE_INSTANT("jumps", "round", TRACE_SCOPE_THREAD, "number", rounds);
    }
    is_over = 1;
    pthread_join(interrupter, NULL);
    if (pthread_create(&other, NULL, after, NULL) != 0) return 1;
    pthread_join(other, NULL);
    after(NULL);
    printf("%d %d\n", (int)jumped, rounds);
    return 0;
}

/* From here on any system call except the exit of the thread kills the process. */
static bool forbid_system_calls(void) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *strict(void *argument) {
    if (!forbid_system_calls()) return argument;
    for (int round = 0; round < 1000; round++) {
        TRACE_DURATION("strict", "scope", "round", round, "text", "some text");
        TRACE_INSTANT("strict", "instant", TRACE_SCOPE_PROCESS);
    }
    syscall(SYS_exit, 0);
    return argument;
}

static int strict_thread(void) {
    pthread_t handle;
    return pthread_create(&handle, NULL, strict, NULL) != 0 || pthread_join(handle, NULL) != 0;
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    trace_init();
    const char *role = arguments[1];
    int failed = strcmp(role, "fork") == 0      ? forks()
                 : strcmp(role, "threads") == 0 ? threads()
                 : strcmp(role, "strict") == 0  ? strict_thread()
                 : strcmp(role, "jumps") == 0   ? jumps()
                                                : signals();
    /* exit() saves all records. */
    return failed;
}
