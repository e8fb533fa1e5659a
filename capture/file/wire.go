package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/zstd"
)

// The frame of the file and of its chunks; docs/capture-format.md specifies it.
// Everything in this file is part of the wire format.

const (
	magic      = "\x89hdb\r\n\x1a\n"
	headerSize = 16 // magic, major, minor, CRC

	major = 2 // a reader refuses a file with another one
	minor = 2 // counts compatible additions
)

// version is the version of the format that is written, and read.
var version = fmt.Sprintf("%d.%d", major, minor)

const (
	syncMark        = "\xf7hdb"
	chunkHeaderSize = 24
	maxChunk        = 64 << 20 // bytes of a chunk's payload
)

// A chunkKind says what a chunk holds. Readers skip kinds they do not know.
type chunkKind uint8

const (
	chunkInfo      chunkKind = 1
	chunkFunctions chunkKind = 2
	chunkThreads   chunkKind = 3
	chunkModules   chunkKind = 4
	chunkStacks    chunkKind = 5
	chunkEvents    chunkKind = 6
	chunkStops     chunkKind = 7
	chunkSymbols   chunkKind = 8
	chunkSources   chunkKind = 9
	chunkIndex     chunkKind = 10
	chunkLosses    chunkKind = 11
	chunkMarks     chunkKind = 12
	chunkSamples   chunkKind = 13
	chunkSums      chunkKind = 14
	chunkConsole   chunkKind = 15

	chunkCheckpoint chunkKind = 16
	chunkExecs      chunkKind = 17
	chunkTypes      chunkKind = 18
)

var chunkNames = map[chunkKind]string{
	chunkInfo: "info", chunkFunctions: "functions", chunkThreads: "threads", chunkModules: "modules",
	chunkStacks: "stacks", chunkEvents: "events", chunkStops: "stops", chunkSymbols: "symbols",
	chunkSources: "sources", chunkIndex: "the index", chunkLosses: "losses",
	chunkMarks: "marks", chunkSamples: "samples", chunkSums: "sums", chunkConsole: "console",
	chunkCheckpoint: "checkpoints", chunkExecs: "execs", chunkTypes: "types",
}

func (k chunkKind) String() string {
	if name, ok := chunkNames[k]; ok {
		return name
	}
	return fmt.Sprintf("unknown kind %d", uint8(k))
}

// A chunkHeader precedes each payload. Its own checksum lets a reader that lost
// the thread find the next chunk.
type chunkHeader struct {
	number uint32 // chunks of the file are counted from 0
	kind   chunkKind
	length uint32 // of the payload
	crc    uint32 // of the payload
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func (h chunkHeader) append(b []byte) []byte {
	start := len(b)
	b = append(b, syncMark...)
	b = binary.LittleEndian.AppendUint32(b, h.number)
	b = append(b, byte(h.kind), 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, h.length)
	b = binary.LittleEndian.AppendUint32(b, h.crc)
	return binary.LittleEndian.AppendUint32(b, checksum(b[start:]))
}

// parseChunkHeader reads the header at the start of b, which must be long
// enough. It is false if there is none or it is damaged.
func parseChunkHeader(b []byte) (h chunkHeader, ok bool) {
	b = b[:chunkHeaderSize]
	h = chunkHeader{
		number: binary.LittleEndian.Uint32(b[4:]),
		kind:   chunkKind(b[8]),
		length: binary.LittleEndian.Uint32(b[12:]),
		crc:    binary.LittleEndian.Uint32(b[16:]),
	}
	ok = string(b[:4]) == syncMark && h.length <= maxChunk &&
		checksum(b[:20]) == binary.LittleEndian.Uint32(b[20:])
	return h, ok
}

// appendFileHeader appends what a file begins with.
func appendFileHeader(b []byte) []byte {
	start := len(b)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, major)
	b = binary.LittleEndian.AppendUint16(b, minor)
	return binary.LittleEndian.AppendUint32(b, checksum(b[start:]))
}

// A payload is a sequence of sections: ID, encoding, length unpacked, length of
// the bytes that follow, bytes. Readers skip IDs they do not know.

const (
	stored = 0 // the bytes themselves
	packed = 1 // a zstd frame

	minPacked  = 64       // shorter sections are not worth a frame
	maxSection = 16 << 20 // bytes of a section, unpacked
	maxID      = 39       // IDs from here on are not known to this version
)

// sections are the unpacked sections of a payload by ID; nil if absent.
type sections [maxID][]byte

func appendStored(dst []byte, id int, data []byte) []byte {
	return appendSection(dst, id, stored, len(data), data)
}

func appendSection(dst []byte, id int, encoding byte, length int, data []byte) []byte {
	dst = append(dst, byte(id), encoding)
	dst = binary.AppendUvarint(dst, uint64(length))
	dst = binary.AppendUvarint(dst, uint64(len(data)))
	return append(dst, data...)
}

// An unpacker is the inverse of a packer. It belongs to one goroutine.
type unpacker struct {
	z *zstd.Decoder
}

var errSection = errors.New("a section is cut off")

// sections unpacks a payload. Stored sections are parts of it.
func (u *unpacker) sections(payload []byte) (s sections, err error) {
	for len(payload) > 0 {
		var sec section
		if sec, payload, err = nextSection(payload); err != nil {
			return s, err
		}
		if sec.id >= maxID {
			continue
		}
		if s[sec.id] != nil {
			return s, fmt.Errorf("section %d: there twice", sec.id)
		}
		if s[sec.id], err = u.unpack(sec); err != nil {
			return s, fmt.Errorf("section %d: %w", sec.id, err)
		}
	}
	return s, nil
}

// A section as it is in the payload.
type section struct {
	id       int
	encoding byte
	length   uint64 // unpacked
	data     []byte
}

// nextSection splits the first section off the payload.
func nextSection(payload []byte) (s section, rest []byte, err error) {
	if len(payload) < 2 {
		return s, nil, errSection
	}
	s.id, s.encoding = int(payload[0]), payload[1]
	c := cursor{name: "section", b: payload[2:]}
	s.length = c.uvarint()
	n := c.uvarint()
	if c.err != nil || n > uint64(len(c.b)) {
		return s, nil, errSection
	}
	s.data = c.b[:n:n]
	return s, c.b[n:], nil
}

func (u *unpacker) unpack(s section) ([]byte, error) {
	switch {
	case s.length > maxSection:
		return nil, fmt.Errorf("%d bytes are more than %d", s.length, maxSection)
	case s.encoding == stored && s.length == uint64(len(s.data)):
		return s.data, nil
	case s.encoding != packed:
		return nil, fmt.Errorf("encoding %d of %d bytes in %d is not known", s.encoding, s.length, len(s.data))
	}
	if u.z == nil {
		// The options are valid, so that there is no error. The limit holds the frame to the
		// length that the section states.
		u.z, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxSection),
			zstd.WithDecodeAllCapLimit(true))
	}
	b, err := u.z.DecodeAll(s.data, make([]byte, 0, s.length))
	if err != nil {
		return nil, err
	}
	if uint64(len(b)) != s.length {
		return nil, fmt.Errorf("%d bytes unpacked, %d stated", len(b), s.length)
	}
	return b, nil
}
