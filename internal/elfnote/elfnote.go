// Package elfnote reads the notes of ELF files, in PT_NOTE segments and SHT_NOTE sections (elf(5)).
package elfnote

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// A Note is one of them.
type Note struct {
	Name string // whose note it is: "GNU", "CORE"
	Type uint32 // one of the owner's
	Desc []byte
}

// Next cuts the first note off. Name and descriptor are padded to 4 bytes.
func Next(order binary.ByteOrder, b []byte) (n Note, rest []byte, err error) {
	if len(b) < 12 {
		return n, nil, fmt.Errorf("note: %d bytes", len(b))
	}
	name, desc := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:]))
	n.Type = order.Uint32(b[8:])
	b = b[12:]
	if end := Pad(name) + desc; end > uint64(len(b)) {
		return n, nil, fmt.Errorf("note of type %#x: %d bytes, %d are there", n.Type, end, len(b))
	}
	owner, _, _ := bytes.Cut(b[:name], []byte{0})
	n.Name, n.Desc = string(owner), b[Pad(name):][:desc]
	return n, b[min(Pad(Pad(name)+desc), uint64(len(b))):], nil
}

// maxGoBuildID bounds a build ID of Go, which is four hashes in base64.
const maxGoBuildID = 256

// GoBuildID is the first build ID of the Go toolchain among notes, "" without or if it is not of
// printable characters.
func GoBuildID(order binary.ByteOrder, notes []byte) string {
	const ntGoBuildID = 4
	for len(notes) > 0 {
		n, rest, err := Next(order, notes)
		if err != nil {
			return ""
		}
		if n.Type == ntGoBuildID && n.Name == "Go" && len(n.Desc) <= maxGoBuildID {
			if bytes.ContainsFunc(n.Desc, func(r rune) bool { return r <= ' ' || r > '~' }) {
				return ""
			}
			return string(n.Desc)
		}
		notes = rest
	}
	return ""
}

// Pad is where what follows n bytes of a note begins.
func Pad(n uint64) uint64 { return (n + 3) &^ 3 }

// maxBuildID bounds a build ID, which is a hash.
const maxBuildID = 64

// BuildID is the first GNU build ID among notes, in hexadecimal; "" without.
func BuildID(order binary.ByteOrder, notes []byte) string {
	const ntGNUBuildID = 3
	for len(notes) > 0 {
		n, rest, err := Next(order, notes)
		if err != nil {
			return ""
		}
		if n.Type == ntGNUBuildID && n.Name == "GNU" && len(n.Desc) <= maxBuildID {
			return hex.EncodeToString(n.Desc)
		}
		notes = rest
	}
	return ""
}
