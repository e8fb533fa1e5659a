// Eight threads allocate, resize and free at once, and end; four generations.
// Thread t of generation g does 100 rounds; sizes name their thread, so that no
// event can be taken for another's. The last size of each realloc is 5000 + 10*g + t.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

static void *work(void *arg) {
	size_t id = (uintptr_t)arg;
	for (int i = 0; i < 100; i++) {
		void *p = malloc(1000 + id);
		void *q = calloc(2, 2000 + id);
		p = realloc(p, 3000 + id);
		p = realloc(p, 5000 + id);
		free(q);
		free(p);
	}
	return malloc(7000 + id); // stays
}

int main(void) {
	for (uintptr_t g = 0; g < 4; g++) {
		pthread_t threads[8];
		for (uintptr_t t = 0; t < 8; t++)
			if (pthread_create(&threads[t], NULL, work, (void *)(10 * g + t))) return 1;
		for (int t = 0; t < 8; t++) pthread_join(threads[t], NULL);
	}
	return 0;
}
