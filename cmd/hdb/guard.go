package main

import "hdb/inferior"

// guardFlag is the hidden mode in which hdb runs itself as the guard of a
// process that would outlive it: "/proc/self/exe --guard" is the command for
// inferior's Guard. main looks for it before anything else; the name that hdb
// is called by plays no part.
const guardFlag = "--guard"

// guard is that mode; see inferior.RunGuard.
func guard(args []string) int { return inferior.RunGuard(args) }
