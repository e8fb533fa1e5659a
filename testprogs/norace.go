//go:build !race

package testprogs

// UnderRace says that the race detector is on.
const UnderRace = false
