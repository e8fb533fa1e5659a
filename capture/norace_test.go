//go:build !race

package capture

const underRace = false
