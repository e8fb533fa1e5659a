// growing_server without its fault.
//build: -std=c++20
#define FIXED
#include "growing_server.cc"
