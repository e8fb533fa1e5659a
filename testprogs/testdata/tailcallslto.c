//build: -O2 -flto
// The same with link-time optimization: call sites refer to copies of the declarations.
#include "tailcalls.c"
