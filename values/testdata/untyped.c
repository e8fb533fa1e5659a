#include <stdio.h>
#include <unistd.h>
__asm__(".data\n.globl raw_ratio, raw_name, raw_buf, said\n.balign 8\nraw_ratio: .double 2.5\n.size raw_ratio, 8\n.type raw_ratio, @object\n"
        "raw_name: .quad raw_buf\n.size raw_name, 8\n.type raw_name, @object\nraw_buf: .string \"buffer\"\n.size raw_buf, 7\n.type raw_buf, @object\n"
        ".balign 8\nsaid: .double 3.5\n.size said, 8\n.type said, @object\n.text");
extern double said;
static const char *const banner = "gone";
float fl = 0.1f; short sh = -2, shorts[3] = {-1, 2, -3}; double db = 0.1; long big = -5; unsigned char uc = 200; char name[8] = "name"; void *ptr = &big;
__attribute__((noinline)) int use(int n) {
  int local = n + (int)said;
  __asm__ volatile("" : "+r"(local) : : "memory");
  return local; /* stop */
}
int main(void) { printf("%s %d\n", banner, use(3)); return 0; }
