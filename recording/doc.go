// Package recording makes kept events of allocator calls: it numbers them, follows the
// live heap, and has those recorded that are wanted.
package recording
