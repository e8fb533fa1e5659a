package main

// enter is the entry point of the file, in enter_amd64.s.
//
//lint:ignore U1000 the linker is told of it (Makefile)
func enter()
