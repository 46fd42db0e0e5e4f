#include "units.h"

void second() {
    record_unit(2);
    copied(2);
    instance(2.0);
}
