// Package file is the capture format with its readers and writers: a recording in
// memory (Log), one that is written as it is made (Writer), and a saved one (File).
//
// docs/capture-format.md specifies the format; an overview:
//
//	+--------+-------+-------+-------+-----+-------+-------+
//	| header | chunk | chunk | chunk | ... | chunk | index |
//	+--------+-------+-------+-------+-----+-------+-------+
//
//	chunk:  sync (4) | number (4) | kind (4) | length (4) | CRC of payload (4) | CRC of these (4) | payload
//
//	payload:  section | section | ...
//
//	section:  ID (1) | encoding (1) | length unpacked | length | bytes, stored or a zstd frame
//
// A file is only ever appended to, in whole chunks, and a chunk is decoded
// without those before it. So a file that is cut off opens with everything
// before the cut, and damage in the middle costs the chunks that it hit. The
// index only saves reading the file: it is made again when it is missing.
//
// Events are columns, one section each. Encoder and decoder run a model of the
// program and of an imaginary allocator (model.go), and one byte for an event,
// its op, tells which of the model's predictions came true; only what did not is
// stored. A block that ends is named by the event that made it, which the
// recorder knows, so that nothing has to be looked up by its address.
//
// A Log belongs here, too: it holds its events in the encoding of the file, with the
// same summaries and checkpoints, so that a long session fits in memory and is saved
// by copying. Behind an interface it would be the same code, and another call for
// each event.
//
// # Concurrency
//
// A Log and a Writer are added to by one goroutine. A Writer's goroutine encodes events as they
// come; a Log's only stores them. Full chunks of 65,536 are handed to the goroutine of their queue,
// which encodes what is not, packs it, and writes or spills it. At most a few wait; then adding
// waits, too, so that memory is bounded. A queue's goroutine ends when it has nothing to do.
//
// A Log and a File are read by any number of goroutines; a Log also while it
// grows. Locks are taken in the order cache.mu, then Log.mu or File.mu, and none
// is held while a caller's code runs or while anything is encoded or written.
package file
