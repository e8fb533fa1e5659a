// Package edit makes captures of captures: it trims, repairs, merges, anonymizes and
// compacts them. It reads and writes by the exported methods of capture/file alone.
package edit
