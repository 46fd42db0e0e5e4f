#include "strict.c"
