package main

import (
	"fmt"
	"runtime/debug"
)

// What make dist sets by -ldflags=-X: the number of the release, the commit, and its date (2006-01-02).
var release, commit, date string

// version is the number of the release, or the commit that hdb was built from.
func version() string {
	if release != "" {
		return release
	}
	if c, _ := source(); c != "" {
		return c
	}
	return "devel"
}

// source is the commit that hdb was built from, shortened to 12 digits, and its date; "" if neither make dist nor go build
// has recorded it.
func source() (string, string) {
	c, d := commit, date
	if info, ok := debug.ReadBuildInfo(); ok && c == "" {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				c = s.Value
			case "vcs.time": // RFC 3339
				d = s.Value[:min(10, len(s.Value))]
			}
		}
	}
	return c[:min(12, len(c))], d
}

// fullVersion is the line of --version: with commit and date where they are known.
func fullVersion() string {
	number := release
	if number == "" {
		number = "devel"
	}
	if c, d := source(); c != "" {
		return fmt.Sprintf("hdb %s (commit %s, %s)", number, c, d)
	}
	return "hdb " + number
}
