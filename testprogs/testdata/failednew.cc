// failednew: three calls of operator new and five of malloc that fail.
//build: -O0
#include <cstdlib>
#include <new>

int main() {
    volatile std::size_t most = std::size_t(1) << 55;
    void *volatile p;
    for (int i = 0; i < 3; i++) {
        try {
            p = operator new(most);
        } catch (const std::bad_alloc &) {
        }
    }
    for (int i = 0; i < 5; i++)
        p = std::malloc(most);
    return p != nullptr;
}
