// Calls a library with sleds that it is linked with. It is a program, or a library itself.

extern "C" unsigned long library_function(unsigned long n);

extern "C" unsigned long linked_function(unsigned long n) { return library_function(n); }

int main() {
    unsigned long sum = 0;
    for (unsigned long n = 0; n < 100; n++) {
        sum += linked_function(n);
    }
    return sum != 5050;
}
