package testprogs

import "testing"

// Rounds returns how often a test repeats what it tries at random: full times,
// or short times with -short. The race detector makes each round some ten
// times slower and has more to find in how goroutines meet than in what they
// are given: it gets the short form in full, and an eighth of it with -short.
func Rounds(short, full int) int {
	switch {
	case UnderRace && testing.Short():
		return max(short/8, 1)
	case UnderRace || testing.Short():
		return short
	}
	return full
}

// Stride returns the distance between the cases that a test looks at of all
// that there are: 1 in full, short with -short, and under the race detector as
// much more as Rounds is less. It should share no factor with the period of the
// cases.
func Stride(short int) int {
	switch {
	case UnderRace && testing.Short():
		return 8*short + 1
	case UnderRace || testing.Short():
		return short
	}
	return 1
}

// SkipUnderRace skips a test under the race detector with -short: what compares
// answers with a second opinion goes the same way again and again, and takes
// minutes with it. Without the race detector it runs in every form.
func SkipUnderRace(t testing.TB) {
	t.Helper()
	if UnderRace && testing.Short() {
		t.Skip("compares answers; make test-full has it under the race detector")
	}
}
