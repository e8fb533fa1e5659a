// Loads and unloads plugin.so five times; then a fork child and the parent allocate.
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
	for (int i = 0; i < 5; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW);
		if (lib == NULL) return 1;
		void *(*work)(size_t) = (void *(*)(size_t))dlsym(lib, "work");
		free(work(4000 + 10 * i));
		dlclose(lib);
	}
	pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < 10; i++) free(malloc(6000 + i));
		_exit(7);
	}
	int status;
	waitpid(child, &status, 0);
	free(malloc(8000));
	if (argc > 2) return WEXITSTATUS(status) == 7 ? 0 : 2;
	execl(argv[0], argv[0], argv[1], "again", (char *)NULL);
	return 3;
}
