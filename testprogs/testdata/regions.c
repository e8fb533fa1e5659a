// Has one byte of each kind of memory, and says in a file what each is: "ADDRESS KIND TEXT",
// where KIND is as vmmap has it. Then it calls classified().
//also: libregions.so regions_lib.c -g -shared -fPIC
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

int data = 1;
int bss[3000];
const char constant[] = "constant";
static _Thread_local int local = 5;

static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;

static void is(const void *p, const char *kind, const char *text)
{
        pthread_mutex_lock(&lock);
        fprintf(out, "%p %s %s\n", p, kind, text);
        pthread_mutex_unlock(&lock);
}

static void *map(size_t size, int prot, int flags, int fd)
{
        char *p = mmap(NULL, size, prot, flags, fd, 0);
        if (p == MAP_FAILED)
                abort();
        if (prot & PROT_WRITE)
                *p = 1;
        return p;
}

static void *anonymous(size_t size)
{
        return map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

// guarded is a stack with a page below it that may not be touched.
static char *guarded(size_t size)
{
        char *p = map(size + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        mprotect(p + 4096, size, PROT_READ | PROT_WRITE);
        return p + 4096;
}

static void *(*library_local)(void);

__attribute__((noinline)) static char *below(void)
{
        char room[30000];
        memset(room, 1, sizeof room);
        __asm__ volatile("" : : "r"(room) : "memory");
        return (char *)((uintptr_t)room & ~63UL);
}

static void wait_here(void)
{
        pthread_barrier_wait(&ready);
        for (;;)
                pause();
}

// own_stack tells where a thread is.
static void own_stack(const char *kind)
{
        char here = 0;
        pthread_attr_t attr;
        void *low;
        size_t size, guard;
        pthread_getattr_np(pthread_self(), &attr);
        pthread_attr_getstack(&attr, &low, &size);
        pthread_attr_getguardsize(&attr, &guard);
        is(&here, kind, "a variable");
        is(below(), "stack-unused", "a variable of a call that has returned");
        is((char *)low + 64, "stack-unused", "the end of the stack");
        if (guard)
                is((char *)low - 1, "guard", "below it");
        is(&local, "tls", "a thread-local variable");
        is((void *)pthread_self(), "tls", "struct pthread");
}

static void *plain(void *arg)
{
        own_stack("stack");
        is(library_local(), "heap", "a thread-local variable of a library");
        is(malloc(100), "heap", "a block of another arena");
        wait_here();
        return arg;
}

static char *alternate;

static void handler(int n)
{
        char here = 0;
        (void)n;
        is(&here, "signal-stack", "a variable of a handler");
        is(alternate + 100, "stack-unused", "the end of the alternate stack");
        wait_here();
}

static void *signalled(void *arg)
{
        enum { size = 64 << 10 };
        alternate = anonymous(size);
        stack_t s = {.ss_sp = alternate, .ss_size = size};
        sigaltstack(&s, NULL);
        struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
        sigaction(SIGUSR1, &a, NULL);
        own_stack("stack");
        raise(SIGUSR1);
        return arg;
}

static ucontext_t back, coroutine;

static void on_coroutine(void)
{
        char here = 0;
        is(&here, "anonymous", "a variable of a coroutine");
        wait_here();
}

static void *switched(void *arg)
{
        char here = 0, *p = guarded(64 << 10);
        is(&here, "stack", "a variable of the thread that has switched to the coroutine");
        is(p - 1, "reserved", "below the stack of the coroutine");
        getcontext(&coroutine);
        coroutine.uc_stack.ss_sp = p;
        coroutine.uc_stack.ss_size = 64 << 10;
        makecontext(&coroutine, on_coroutine, 0);
        swapcontext(&back, &coroutine);
        return arg;
}

static ucontext_t back2, coroutine2;

static void on_heap(void)
{
        char here = 0;
        is(&here, "heap", "a variable of a coroutine in a block");
        wait_here();
}

static void *switched_heap(void *arg)
{
        getcontext(&coroutine2);
        coroutine2.uc_stack.ss_sp = malloc(64 << 10);
        coroutine2.uc_stack.ss_size = 64 << 10;
        makecontext(&coroutine2, on_heap, 0);
        swapcontext(&back2, &coroutine2);
        return arg;
}

static void *given(void *arg)
{
        char here = 0;
        is(&here, "stack", "a variable on a stack that the program gave");
        is(arg, "stack-unused", "the end of that");
        is(&local, "tls", "a thread-local variable there");
        wait_here();
        return arg;
}

static volatile int ended;

static void *ends(void *arg)
{
        char here = 0;
        is(&here, "stack-ended", arg);
        is((void *)pthread_self(), strstr(arg, "not joined") ? "tls" : "stack-ended", arg);
        ended = syscall(SYS_gettid);
        return arg;
}

static pthread_t begin(void *(*f)(void *), void *arg, void *stack, size_t size)
{
        pthread_t t;
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 256 << 10);
        if (stack)
                pthread_attr_setstack(&attr, stack, size);
        if (pthread_create(&t, &attr, f, arg))
                abort();
        return t;
}

// The threads wait from here on.
__attribute__((noinline)) void started(void)
{
        __asm__ volatile("");
}

__attribute__((noinline)) void classified(void)
{
        __asm__ volatile("");
}

int main(int argc, char **argv)
{
        char path[4096], mapped[64] = "/tmp/hdb-regions-XXXXXX";
        int last = argc > 2; // end by a signal
        out = argc > 1 ? fopen(argv[1], "w") : stdout;
        pthread_barrier_init(&ready, NULL, 6);

        snprintf(path, sizeof path, "%s/libregions.so", dirname(strdup(argv[0])));
        void *lib = dlopen(path, RTLD_NOW);
        if (!lib) {
                fprintf(stderr, "%s\n", dlerror());
                return 1;
        }
        library_local = (void *(*)(void))dlsym(lib, "library_local");
        is((void *)library_local, "code", "a function of a library");
        is(dlsym(lib, "library_data"), "data", "a variable of a library");
        is((int *)dlsym(lib, "library_bss") + 1500, "bss", "a zero variable of a library");
        is(library_local(), "heap", "a thread-local variable of a library in the main thread");

        is((void *)main, "code", "a function");
        is((void *)puts, "code", "a function of libc");
        is(constant, "rodata", "a constant");
        is(&data, "data", "a variable");
        is(&bss[1500], "bss", "a zero variable");
        is((void *)getauxval(AT_SYSINFO_EHDR), "kernel", "the vDSO");

        begin(ends, "of a thread that was not joined", NULL, 0);
        while (!ended)
                ;
        snprintf(path, sizeof path, "/proc/self/task/%d", ended);
        while (access(path, F_OK) == 0)
                usleep(1000);
        begin(plain, NULL, NULL, 0);
        begin(signalled, NULL, NULL, 0);
        begin(switched, NULL, NULL, 0);
        begin(switched_heap, NULL, NULL, 0);
        char *stack = anonymous(128 << 10);
        begin(given, stack + 1024, stack, 128 << 10);
        pthread_barrier_wait(&ready);
        started();
        pthread_join(begin(ends, "of a thread that was joined", NULL, 0), NULL);

        is(malloc(100), "heap", "a block");
        is(malloc(1 << 20), "heap", "a large block");
        void *freed = malloc(3000);
        is(freed, "heap", "a freed block");
        is(malloc(10), "heap", "another block");
        free(freed);
        is((char *)sbrk(0) - 64, "heap", "the top chunk");

        is(anonymous(8192), "anonymous", "private memory");
        is(map(8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1), "shared", "shared memory");
        int memfd = memfd_create("regions", 0), file = mkstemp(mapped);
        if (memfd < 0 || file < 0 || ftruncate(memfd, 8192) || ftruncate(file, 8192))
                abort();
        is(map(8192, PROT_READ | PROT_WRITE, MAP_SHARED, memfd), "shared", "a memfd");
        is(map(8192, PROT_READ | PROT_WRITE, MAP_SHARED, file), "file", "a shared file");
        is(map(8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, file), "file", "a private file");
        unlink(mapped);
        is(map(8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1), "reserved", "without access");
        is(map(8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1), "runtime", "code made at run time");

        is(&local, "tls", "a thread-local variable of the main thread");
        is(&argc, "stack", "a variable of main");
        is(argv[0], "stack", "an argument");
        is(below(), "stack-unused", "a variable of a call of main's that has returned");
        fclose(out);
        if (last)
                raise(SIGSEGV);
        classified();
        return 0;
}
