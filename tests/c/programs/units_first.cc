#include "units.h"

int main() {
    trace_init();
    record_unit(1);
    copied(1);
    second();
    third();
    trace_shutdown();
}
