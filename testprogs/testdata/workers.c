// A reader and a writer, threads of these names, allocate by turns: what the reader
// made the writer gives back in part, and main the rest but for what is leaked.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *made[64];

__attribute__((noinline)) static void *fetch(size_t n) { return malloc(n); }

static void *reader(void *arg)
{
	pthread_setname_np(pthread_self(), "reader");
	for (int i = 0; i < 64; i++)
		made[i] = fetch(1000);
	return arg;
}

static void *writer(void *arg)
{
	pthread_setname_np(pthread_self(), "writer");
	for (int i = 0; i < 32; i++) { // gives back what the reader made
		void *p = fetch(500);
		free(made[i]);
		free(p);
	}
	made[0] = fetch(7000); // leaked
	return arg;
}

int main(void)
{
	pthread_t t;
	void *(*const run[])(void *) = {reader, writer};
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&t, NULL, run[i], NULL) != 0)
			return 1;
		pthread_join(t, NULL);
	}
	for (int i = 32; i < 60; i++) // 4 of the reader's stay
		free(made[i]);
	made[1] = fetch(300);
	puts("done");
	return 0;
}
