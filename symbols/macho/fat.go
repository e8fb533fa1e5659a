package macho

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxArchs bounds the files in a fat one. Java classes have the same magic number and
// a version of 45 or more behind it.
const maxArchs = 40

// archName is what `lipo` and `--arch` call a cputype and cpusubtype.
func archName(cpu, sub uint32) string {
	const abi64 = 0x01000000
	switch cpu {
	case 7 | abi64:
		if sub&0xff == 8 {
			return "x86_64h"
		}
		return "x86_64"
	case 12 | abi64:
		if sub&0xff == 2 {
			return "arm64e"
		}
		return "arm64"
	case 7:
		return "i386"
	case 12:
		return "arm"
	case 12 | 0x02000000:
		return "arm64_32"
	}
	return fmt.Sprintf("cpu type %#x", cpu)
}

// chooseArch is the file for arch in a fat file, or data itself when it is not fat.
func chooseArch(data []byte, arch string) ([]byte, error) {
	be := binary.BigEndian
	if len(data) < 8 {
		return data, nil
	}
	size := 20
	switch be.Uint32(data) {
	case fatMagic:
	case fatMagic64:
		size = 32
	default:
		return data, nil
	}
	count := be.Uint32(data[4:])
	if count > maxArchs {
		return nil, ErrNotMachO
	}
	var have []string
	var chosen []byte
	for i := range int(count) {
		if len(data) < 8+(i+1)*size {
			break
		}
		b := data[8+i*size:]
		off, n := uint64(be.Uint32(b[8:])), uint64(be.Uint32(b[12:]))
		if size == 32 {
			off, n = be.Uint64(b[8:]), be.Uint64(b[16:])
		}
		name := archName(be.Uint32(b), be.Uint32(b[4:]))
		have = append(have, name)
		if off >= uint64(len(data)) || n > uint64(len(data))-off {
			continue
		}
		if name == arch || arch == "" && (name == "x86_64" || count == 1) {
			chosen = data[off:][:n]
		}
	}
	if chosen == nil {
		return nil, &ArchError{Want: arch, Have: have}
	}
	return chosen, nil
}

// findMember is the contents of the first member of that name in an archive, and when
// it was changed: "!<arch>\n", then for each member a header of 60 bytes, and its
// bytes, which with BSD's names "#1/LENGTH" begin with the name (ar(5)).
func findMember(data []byte, want string) ([]byte, int64, error) {
	const magic, header = "!<arch>\n", 60
	if !bytes.HasPrefix(data, []byte(magic)) {
		return nil, 0, errors.New("not an archive")
	}
	for data = data[len(magic):]; len(data) >= header; {
		size, err := strconv.ParseUint(field(data[48:58]), 10, 63)
		if err != nil || size > uint64(len(data)-header) || string(data[58:60]) != "`\n" {
			return nil, 0, errors.New("archive header is malformed")
		}
		name, body := field(data[:16]), data[header:][:size]
		if long, ok := strings.CutPrefix(name, "#1/"); ok {
			n, err := strconv.ParseUint(long, 10, 16)
			if err != nil || n > uint64(len(body)) {
				return nil, 0, fmt.Errorf("archive member's name %q is malformed", name)
			}
			name, body = cstring(body[:n]), body[n:]
		}
		if strings.TrimSuffix(name, "/") == want {
			at, err := strconv.ParseInt(field(data[16:28]), 10, 64)
			if err != nil {
				at = 0
			}
			return body, at, nil
		}
		data = data[min(header+size+size&1, uint64(len(data))):]
	}
	return nil, 0, fmt.Errorf("no member %s in the archive", want)
}

func field(b []byte) string { return strings.TrimRight(string(b), " ") }
