//go:build race

package capture

// underRace: the race detector is on, and everything takes ten times as long.
const underRace = true
