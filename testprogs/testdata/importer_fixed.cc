// importer without its fault.
//build: -std=c++20
#define FIXED
#include "importer.cc"
