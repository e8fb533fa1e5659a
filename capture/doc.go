// Package capture holds what was recorded of an inferior's heap: the model of
// events, the log of a running session and the file that keeps it.
package capture
