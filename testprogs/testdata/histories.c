// Allocates, resizes and frees at random in three threads, one at a time, in phases each of
// which begins with a call of phase(). Then it calls done(), and prints what it did: a line for
// each call, with the phase, kind, function, thread, old address, address and size.
//   histories SEED PHASES CALLS
//build: -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLOTS = 40, MOST = 20000, THREADS = 3 };

static struct call {
    int phase, thread;
    char kind, function;
    void *old, *addr;
    size_t size;
} calls[MOST];
static int made;
static void *slots[SLOTS];
static unsigned long long state;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn;

static unsigned below(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}

__attribute__((noinline)) void phase(void) { __asm__ volatile(""); }
__attribute__((noinline)) void done(void) { __asm__ volatile(""); }

__attribute__((noinline)) static void note(struct call c)
{
    calls[made++] = c;
    __asm__ volatile("" ::: "memory");
}

#define SITE(name)                                                                       \
    __attribute__((noinline)) static void *make_##name(int ph, int thread, size_t size)  \
    {                                                                                    \
        void *p = below(4) ? malloc(size) : calloc(1, size);                             \
        note((struct call){ph, thread, 'a', #name[0], NULL, p, size});                   \
        return p;                                                                        \
    }                                                                                    \
    __attribute__((noinline)) static void *grow_##name(int ph, int thread, void *old, size_t size) \
    {                                                                                    \
        void *p = realloc(old, size);                                                    \
        note((struct call){ph, thread, 'r', #name[0], old, p, size});                    \
        return p;                                                                        \
    }
SITE(x)
SITE(y)
SITE(z)

__attribute__((noinline)) static void release(int ph, int thread, void *p)
{
    free(p);
    note((struct call){ph, thread, 'f', 0, NULL, p, 0});
}

// step makes one call. Sizes are few, so that addresses are soon used again; most blocks
// are freed before long, some at once.
static void step(int ph, int thread)
{
    static const size_t sizes[] = {24, 24, 40, 100, 1000, 1500, 5000};
    void **slot = &slots[below(SLOTS)];
    size_t size = sizes[below(sizeof sizes / sizeof sizes[0])];
    unsigned site = below(3);
    if (!*slot)
        *slot = site == 0 ? make_x(ph, thread, size) : site == 1 ? make_y(ph, thread, size) : make_z(ph, thread, size);
    else if (below(3) == 0)
        *slot = site == 0 ? grow_x(ph, thread, *slot, size) : site == 1 ? grow_y(ph, thread, *slot, size) : grow_z(ph, thread, *slot, size);
    else {
        release(ph, thread, *slot);
        *slot = NULL;
    }
}

static void wait_for(int who)
{
    while (turn != who)
        pthread_cond_wait(&turned, &lock);
}

static void hand_to(int who)
{
    turn = who;
    pthread_cond_broadcast(&turned);
}

static int now; // the phase

static void *worker(void *arg)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        wait_for((int)(long)arg);
        step(now, turn);
        hand_to(0);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    state = strtoull(argv[1], NULL, 10);
    int phases = atoi(argv[2]), each = atoi(argv[3]);
    if (phases * each > MOST)
        return 2;
    pthread_mutex_lock(&lock);
    for (long i = 1; i < THREADS; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, worker, (void *)i))
            return 1;
    }
    for (; now < phases; now++) {
        phase();
        for (int i = 0; i < each; i++) {
            int who = below(THREADS);
            if (who == 0)
                step(now, 0);
            else {
                hand_to(who);
                wait_for(0);
            }
        }
    }
    done();
    static char line[128];
    for (int i = 0; i < made; i++) {
        struct call *c = &calls[i];
        int n = snprintf(line, sizeof line, "%d %c %c %d %p %p %zu\n", c->phase, c->kind, c->function ? c->function : '-', c->thread, c->old, c->addr, c->size);
        if (write(1, line, n) != n)
            return 1;
    }
    _exit(0);
}
