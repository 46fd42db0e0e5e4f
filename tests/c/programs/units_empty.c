#include <trace.h>
