/* Loads and unloads a library that is a provider. With the argument `stop`, the provider is shut
 * down before. Threads that have called the library end later. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void (*work)(int);
static sem_t has_worked, is_unloaded;

static void find(void *library, const char *name, void (**function)(void)) {
    void *symbol = dlsym(library, name);
    if (!symbol) exit(3);
    memcpy(function, &symbol, sizeof *function);
}

static void *run(void *number) {
    work((int)(size_t)number);
    sem_post(&has_worked);
    sem_wait(&is_unloaded);
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    sem_init(&has_worked, 0, 0);
    sem_init(&is_unloaded, 0, 0);
    for (size_t number = 0; number < 5; number++) {
        void *library = dlopen(arguments[1], RTLD_NOW);
        void (*start)(void), (*stop)(void), (*found)(void);
        pthread_t thread;
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        find(library, "provider_start", &start);
        find(library, "provider_stop", &stop);
        find(library, "provider_work", &found);
        memcpy(&work, &found, sizeof work);
        start();
        if (pthread_create(&thread, NULL, run, (void *)number) != 0) return 4;
        sem_wait(&has_worked);
        if (strcmp(arguments[2], "stop") == 0) stop();
        dlclose(library);
        sem_post(&is_unloaded);
        pthread_join(thread, NULL);
    }
    return 0;
}
