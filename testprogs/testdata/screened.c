// Functions with arguments, variables and members of all kinds of numbers, which are called with
// many values, from several threads and from handlers of a signal: for conditions that are asked
// of each call. Arguments: rounds, threads.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum color { RED, GREEN = 3, BLUE = -2 };

struct pair {
	int first;
	unsigned char tag;
	long second;
	struct pair *next;
};

static struct pair table[8];
unsigned short generation;
static long total;
volatile sig_atomic_t alarms;
int state = 1;

__attribute__((noinline)) int narrow(signed char c, unsigned char u, short s, unsigned short w, bool b)
{
	total += c + u + s + w + b;
	return (int)total;
}

__attribute__((noinline)) long wide(int i, unsigned n, long l, unsigned long v, enum color e)
{
	long sum = i;
	sum += n & 7;
	if (l < 0 && v > 5)
		sum -= e;
	return sum;
}

__attribute__((noinline)) int follow(struct pair *p, int depth)
{
	if (!p)
		return depth;
	return p->first + depth;
}

__attribute__((noinline)) int many(int a, int b, int c, int d, int e, int f, int on_stack, char last)
{
	struct pair local = {a, (unsigned char)b, c, NULL};
	local.first += on_stack + last;
	return local.first + d + e + f;
}

__attribute__((noinline)) int loops(int n)
{
	int sum = 0;
	while (n-- > 0)
		sum += n;
	return sum;
}

__attribute__((noinline)) int chooses(int kind)
{
	switch (kind & 7) {
	case 0: return 3;
	case 1: return total & 1;
	case 2: return 4 + kind;
	case 3: return kind * 3;
	case 4: return -kind;
	case 5: return kind ^ 77;
	default: return 1;
	}
}

static jmp_buf back;

__attribute__((noinline)) void jumps(int n)
{
	if (n & 1)
		longjmp(back, n);
	state++;
}

static void on_alarm(__attribute__((unused)) int sig)
{
	alarms++;
	narrow((signed char)alarms, 1, 2, 3, true);
}

static void *work(void *arg)
{
	long rounds = (long)arg, sum = 0;
	for (int i = 0; i < rounds; i++) {
		sum += narrow((signed char)i, (unsigned char)(i * 7), (short)(i * 300), (unsigned short)(i * 300), i % 3 == 0);
		sum += wide(i - 20, (unsigned)i * 0x10000000u, (long)i * (i & 1 ? -5000000000L : 1), (unsigned long)-i, i % 3 ? i % 2 ? GREEN : BLUE : RED);
		sum += follow(i % 5 ? &table[i & 7] : NULL, i);
		sum += many(i, i + 1, i + 2, i + 3, i + 4, i + 5, i * 2, (char)i);
		sum += loops(i & 3) + chooses(i);
	}
	return (void *)sum;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 40;
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t t[16];
	signal(SIGUSR1, on_alarm);
	for (int i = 0; i < 8; i++) {
		table[i] = (struct pair){i * 10, (unsigned char)(250 + i), -i, &table[(i + 1) & 7]};
		raise(SIGUSR1);
	}
	for (volatile int i = 0; i < 8; i++) {
		generation = (unsigned short)(i * 9000);
		if (setjmp(back) == 0)
			jumps(i);
	}
	for (int i = 0; i < threads && i < 16; i++)
		if (pthread_create(&t[i], NULL, work, (void *)rounds) != 0)
			return 1;
	work((void *)rounds);
	for (int i = 0; i < threads && i < 16; i++)
		pthread_join(t[i], NULL);
	return alarms == 8 && state == 5 ? 0 : 1;
}
