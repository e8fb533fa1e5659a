// Package query answers questions about what was recorded, whether the program
// still runs or the recording was read from a file. It knows no process.
package query
