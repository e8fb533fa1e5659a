// Package collect has Go programs collect their garbage: a goroutine that stands at a safe point is made to call runtime.GC by
// the protocol that the runtime has for debuggers (runtime.debugCallV2), or the runtime is made to collect by itself.
//
// How the program is run, and what else stops it, it does not know: who runs it is asked by a small interface.
package collect
