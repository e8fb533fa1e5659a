/* Fills registers of SSE and the x87, and tells at its end what is in one of them. */
int main(void) {
    double in = 2.5, out;
    long double x = 1.5L;
    __asm__ volatile("movsd %1, %%xmm3\n\tfldt %2\n\tint3\n\tfstp %%st(0)\n\tmovsd %%xmm3, %0" : "=m"(out) : "m"(in), "m"(x) : "xmm3", "st", "memory");
    return (int)(4 * out);
}
