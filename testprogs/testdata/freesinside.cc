// freesinside: three times new[], delete[], new and delete. operator delete[] calls operator delete,
// which calls free.
int main() {
    for (int i = 0; i < 3; i++) {
        char *volatile p = new char[300];
        delete[] p;
        int *volatile q = new int(5);
        delete q;
    }
}
