#include "status.c"
