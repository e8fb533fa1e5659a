/*
 * argv[1] threads compute argv[2] rounds each, with system calls of every
 * blocking kind between, and child threads that come and go; the sum must come
 * out right. Prints "ready" when all run and the sum at the end. With a third
 * argument they begin when somebody traces them.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <poll.h>

static long total, rounds;
static int pipes[2];
static volatile int begun;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void hit(long n) { __atomic_add_fetch(&total, n, __ATOMIC_RELAXED); }

static void *brief(void *arg) { hit(1); return arg; }

static void *work(void *arg)
{
	long id = (long)arg;
	char c = 'x';
	while (!begun)
		usleep(1000);
	for (long r = 0; r < rounds; r++) {
		pthread_t t;
		struct timespec ts = { 0, 200000 };
		switch ((id + r) % 6) {
		case 0:
			nanosleep(&ts, 0);
			hit(1);
			break;
		case 1:
			if (write(pipes[1], &c, 1) == 1 && read(pipes[0], &c, 1) == 1)
				hit(1);
			break;
		case 2:
			if (pthread_create(&t, 0, brief, 0) == 0)
				pthread_join(t, 0);
			break;
		case 3:
			poll(0, 0, 1);
			hit(1);
			break;
		case 4:
			pthread_mutex_lock(&lock);
			pthread_mutex_unlock(&lock);
			hit(1);
			break;
		default:
			for (volatile int i = 0; i < 2000; i++)
				;
			hit(1);
		}
	}
	return 0;
}

static int traced(void)
{
	char line[256];
	int tracer = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	if (f)
		fclose(f);
	return tracer != 0;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	begun = argc <= 3;
	rounds = atol(argv[2]);
	pthread_t *t = calloc(n, sizeof *t);
	if (pipe(pipes))
		return 2;
	for (long i = 0; i < n; i++)
		if (pthread_create(&t[i], 0, work, (void *)i))
			abort();
	puts("ready");
	fflush(stdout);
	while (!begun) {
		usleep(1000);
		begun = traced();
	}
	for (int i = 0; i < n; i++)
		pthread_join(t[i], 0);
	printf("total %ld of %ld\n", total, n * rounds);
	return total == n * rounds ? 7 : 1;
}
