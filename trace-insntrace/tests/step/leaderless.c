/* A process whose first thread has exited, and whose second one waits for the end of the input. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *wait_for_end(void *unused)
{
    char byte;
    (void)unused;
    while (read(0, &byte, 1) > 0)
        ;
    exit(4);
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_end, NULL))
        return 1;
    pthread_exit(NULL);
}
