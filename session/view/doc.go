// Package view is what the user looks at: a thread with its stack and a frame of it, a goroutine, or a moment of the
// past; and memory and places in the code as they are typed there.
package view
