package main

import (
	"runtime"
	"runtime/debug"
)

// firstCollection is at how much memory garbage is first collected, in multiples of
// the runtime's 4 MiB.
const firstCollection = 16

// collectLate has garbage collected from 64 MiB on, before which most commands that
// answer one question have ended; then as ever.
func collectLate() {
	usual := debug.SetGCPercent(100 * firstCollection)
	if usual != 100 { // the user's wish
		debug.SetGCPercent(usual)
		return
	}
	type sentinel struct{ _ *int } // has no room with others, which would keep it
	runtime.AddCleanup(new(sentinel), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
