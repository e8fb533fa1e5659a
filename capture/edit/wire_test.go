package edit

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/klauspost/compress/zstd"

	"hdb/capture/file"
)

// What tests need to know of the format, as docs/capture-format.md has it.
const (
	fileMagic   = "\x89hdb\r\n\x1a\n"
	headerSize  = 16
	chunkHeader = 24 // sync, number, kind, length, CRC of the payload, CRC of these
)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// readBack opens a capture that lies in memory.
func readBack(t testing.TB, b []byte) *file.File {
	t.Helper()
	f, err := file.NewFile("test.hdb", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return f
}

// checkWhole fails if anything is damaged.
func checkWhole(t testing.TB, f *file.File) {
	t.Helper()
	if err := f.Check(); err != nil {
		t.Errorf("damage: %v", err)
	}
}

// mended has the lengths and checksums of a capture corrected, so that changes of a
// fuzzer reach the decoders.
func mended(b []byte) []byte {
	if len(b) < headerSize {
		return b
	}
	b = bytes.Clone(b)
	copy(b, fileMagic+"\x02\x00\x00\x00")
	binary.LittleEndian.PutUint32(b[headerSize-4:], checksum(b[:headerSize-4]))
	number := uint32(0)
	for off := headerSize; len(b)-off >= chunkHeader; number++ {
		h := b[off : off+chunkHeader]
		length := min(binary.LittleEndian.Uint32(h[12:]), uint32(len(b)-off-chunkHeader))
		copy(h, "\xf7hdb")
		binary.LittleEndian.PutUint32(h[4:], number)
		clear(h[9:12])
		binary.LittleEndian.PutUint32(h[12:], length)
		binary.LittleEndian.PutUint32(h[16:], checksum(b[off+chunkHeader:][:length]))
		binary.LittleEndian.PutUint32(h[20:], checksum(h[:20]))
		off += chunkHeader + int(length)
	}
	return b
}

// unpacked is a capture whose sections are all stored, without the index.
func unpacked(t testing.TB, b []byte) []byte {
	t.Helper()
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const index = 10
	out := bytes.Clone(b[:headerSize])
	for b = b[headerSize:]; len(b) > 0; {
		header := bytes.Clone(b[:chunkHeader])
		length := binary.LittleEndian.Uint32(header[12:])
		payload := b[chunkHeader:][:length]
		b = b[chunkHeader+length:]
		if header[8] == index {
			continue
		}
		var stored []byte
		for len(payload) > 0 {
			id, encoding := payload[0], payload[1]
			_, k := binary.Uvarint(payload[2:])
			n, m := binary.Uvarint(payload[2+k:])
			data := payload[2+k+m:][:n]
			payload = payload[2+k+m+int(n):]
			if encoding != 0 {
				if data, err = d.DecodeAll(data, nil); err != nil {
					t.Fatal(err)
				}
			}
			stored = append(stored, id, 0)
			stored = binary.AppendUvarint(stored, uint64(len(data)))
			stored = binary.AppendUvarint(stored, uint64(len(data)))
			stored = append(stored, data...)
		}
		binary.LittleEndian.PutUint32(header[12:], uint32(len(stored)))
		out = append(append(out, header...), stored...)
	}
	return mended(out)
}
