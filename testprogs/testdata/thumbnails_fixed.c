//build: -Wl,-rpath,$ORIGIN -ldl
//also: libscale.so thumbnails_scale.c -shared -fPIC -DFIXED
// thumbnails without its fault.
#include "thumbnails.c"
