/* Cancels threads that trace, and shuts the provider down while threads end. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <trace.h>

enum { THREADS = 20 };

static sem_t started;

static void *trace_until_cancelled(void *unused) {
    (void)unused;
    for (int number = 0;; number++) {
        TRACE_DURATION("cancelled", "work", "number", number);
        if (number == 0) sem_post(&started);
        pthread_testcancel();
    }
    return NULL;
}

static void *trace_once(void *unused) {
    TRACE_INSTANT("cancelled", "ending", TRACE_SCOPE_THREAD);
    return unused;
}

static void start(pthread_t *thread, void *(*run)(void *)) {
    if (pthread_create(thread, NULL, run, NULL) != 0) exit(2);
}

int main(void) {
    pthread_t threads[THREADS];
    sem_init(&started, 0, 0);
    trace_init();
    for (int i = 0; i < THREADS; i++) {
        start(&threads[i], trace_until_cancelled);
        sem_wait(&started);
        if (pthread_cancel(threads[i]) != 0) exit(3);
        void *result;
        pthread_join(threads[i], &result);
        if (result != PTHREAD_CANCELED) exit(4);
    }
    TRACE_INSTANT("cancelled", "all", TRACE_SCOPE_THREAD);
    for (int i = 0; i < THREADS; i++) start(&threads[i], trace_once);
    trace_shutdown();
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 0;
}
