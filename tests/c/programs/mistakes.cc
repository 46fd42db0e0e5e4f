#include "mistakes.c"
