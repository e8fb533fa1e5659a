// Package recordings asks what was recorded, of the running process, of the last one or of a capture, says how far the
// answers are sure, and opens and saves captures.
//
// How events are followed it does not know: who records is asked by a small interface.
package recordings
