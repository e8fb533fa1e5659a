package main

import "hdb/inferior"

// guardFlag is the hidden mode in which hdb runs itself as a guard. It is
// looked for before flags are parsed.
const guardFlag = "--guard"

// guard watches over a process that would outlive hdb; see inferior.RunGuard.
func guard(args []string) int { return inferior.RunGuard(args) }
