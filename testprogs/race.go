//go:build race

package testprogs

// UnderRace says that the race detector is on, and makes everything ten times
// slower.
const UnderRace = true
