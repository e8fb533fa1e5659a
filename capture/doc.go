// Package capture is the model of what was recorded of an inferior's heap: events
// with their effects, stacks, modules, and what a recording says about itself.
//
// Source is the interface through which recordings are read, Recorder the one
// through which they are made. Package capture/file implements both, in memory and
// on disk, and capture/edit has the tools that make captures of captures. This
// package knows neither.
package capture
