// The same as returning.cc, without debug information: an object of the caller's is one whose address came first and is returned.
//build: -O1 -g0
#include "returning.cc"
