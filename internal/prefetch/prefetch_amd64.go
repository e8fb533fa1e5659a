package prefetch

// Read asks for the lines of these addresses.
//
//go:noescape
func Read(lines []uintptr)
