// Truncates every memory file that it can find, its own and its parent's, and then
// allocates 1000 blocks of 1001 bytes. Prints how many files it found.

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int cut(const char *dir) {
  DIR *d = opendir(dir);
  if (d == NULL)
    return 0;
  int found = 0;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    char path[512], to[512] = "";
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    if (readlink(path, to, sizeof to - 1) < 0 || strncmp(to, "/memfd:", 7) != 0)
      continue;
    found++;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
      continue;
    struct stat st;
    if (ftruncate(fd, 0) == 0 || fstat(fd, &st) != 0 || st.st_size == 0)
      printf("%s is cut\n", to);
    close(fd);
  }
  closedir(d);
  return found;
}

int main(void) {
  char parent[64];
  snprintf(parent, sizeof parent, "/proc/%d/fd", getppid());
  int found = cut(parent) + cut("/proc/self/map_files") + cut("/proc/self/fd");
  for (int i = 0; i < 1000; i++)
    free(malloc(1001));
  printf("%s, wrong 0\n", found > 0 ? "found" : "none");
  return 0;
}
