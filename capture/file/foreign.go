package file

import (
	"strings"

	"hdb/capture"
)

// foreign are the beginnings of files that a user may take for a capture.
var foreign = []struct{ magic, found, hint string }{
	{"\x7fELF", "an ELF file", "hdb PROG starts a program"},
	{"memray", "a capture of memray", "hdb opens its own captures only"},
	{"PERFILE2", "a perf.data file", "hdb opens its own captures only"},
	{"\x28\xb5\x2f\xfd", "a file compressed by zstd", "unpack it first: zstd -d"},
	{"\x1f\x8b", "a file compressed by gzip", "unpack it first: gunzip"},
	{"\xfd7zXZ\x00", "a file compressed by xz", "unpack it first: unxz"},
	{"PK\x03\x04", "a zip archive", "unpack it first: unzip"},
	{"SQLite format 3\x00", "an SQLite database", ""},
	{"#!", "a script", ""},
}

// Is tells that the file path begins as a capture does.
func Is(path string) bool {
	f, _, err := openRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, len(magic))
	_, err = f.ReadAt(start, 0)
	return err == nil && string(start) == magic
}

// notCapture is the error for a file that begins with start.
func notCapture(path string, start []byte) error {
	err := &capture.NotCaptureError{Path: path, Found: "something else"}
	if len(start) == 0 {
		err.Found = "an empty file"
		return err
	}
	if strings.HasPrefix(magic, string(start)) || strings.HasPrefix(string(start), magic) {
		err.Found = "the first bytes of one: nothing was recorded"
		return err
	}
	for _, f := range foreign {
		if strings.HasPrefix(string(start), f.magic) {
			err.Found, err.Hint = f.found, f.hint
			return err
		}
	}
	if isText(start) {
		err.Found = "a text"
	}
	return err
}

func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}
