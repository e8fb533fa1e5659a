package debuginfod

import (
	"encoding/hex"
	"fmt"
	"path"
	"strings"
)

// A kind is what a server has of a build ID, as its URL calls it.
type kind string

const (
	debugInfo  kind = "debuginfo"
	executable kind = "executable"
	source     kind = "source"
	section    kind = "section"
)

// isELF tells that the kind is a file which says its build ID.
func (k kind) isELF() bool { return k == debugInfo || k == executable }

// limit bounds what is kept of a kind, in bytes, whatever the user allows.
func (k kind) limit() int64 {
	switch k {
	case source:
		return 64 << 20
	case section:
		return 4 << 30
	}
	return 16 << 30
}

// A target is one file of the servers.
type target struct {
	kind kind
	id   string // build ID, lower-case hexadecimal
	arg  string // source: the file as DWARF names it, absolute; section: its name
}

// maxID is the longest build ID in hexadecimal digits that elfutils accepts;
// maxArg the longest name of a source, PATH_MAX of Linux.
const (
	maxID  = 128
	maxArg = 4096
)

// newTarget checks what is asked for: it becomes part of a path and of a URL.
func newTarget(k kind, id, arg string) (target, error) {
	t := target{k, strings.ToLower(id), arg}
	if _, err := hex.DecodeString(t.id); err != nil || len(t.id) < 4 || len(t.id) > maxID {
		return t, fmt.Errorf("%q is not a build ID: an even number of hexadecimal digits expected, 4 to %d", id, maxID)
	}
	switch k {
	case source:
		if !path.IsAbs(arg) || len(arg) > maxArg || strings.IndexByte(arg, 0) >= 0 || strings.HasSuffix(arg, "/") {
			return t, fmt.Errorf("%q: an absolute path of at most %d bytes expected", arg, maxArg)
		}
	case section:
		if arg == "" || arg == "." || arg == ".." || len(arg) > 200 || strings.ContainsAny(arg, "/\x00") {
			return t, fmt.Errorf("%q: the name of a section expected, without a slash, of at most 200 bytes", arg)
		}
	}
	return t, nil
}

// what else names the file, in addition to its build ID.
func (t target) what() string {
	if t.arg == "" {
		return string(t.kind)
	}
	return string(t.kind) + " " + t.arg
}

func (t target) String() string { return t.what() + " of build ID " + t.id }

// urlPath is what follows a server's own URL: each byte that is not unreserved (RFC
// 3986 section 2.3) is escaped, as debuginfod's own client does.
func (t target) urlPath() string {
	s := "/buildid/" + t.id + "/" + string(t.kind)
	if t.arg == "" {
		return s
	}
	return s + "/" + escapeURL(strings.TrimPrefix(t.arg, "/"))
}

func escapeURL(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; isWordByte(c) || c == '~' || c == '/' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_'
}

// names are the file's names in the directory of its build ID, the one to write
// first. elfutils up to 0.191 can turn the name of a source back into its path,
// but makes names that file systems refuse; later it takes a hash and the path's
// end.
func (t target) names() []string {
	switch t.kind {
	case source:
		old := "source" + strings.NewReplacer("/", "##", "#", "#_").Replace(t.arg)
		later := "source-" + hashedName(t.arg)
		if len(old)+len(tempSuffix) > maxName {
			return []string{later}
		}
		return []string{old, later}
	case section:
		return []string{"section-" + t.arg, "section-" + hashedName(t.arg)}
	}
	return []string{string(t.kind)}
}

// maxName is NAME_MAX of Linux, in bytes. tempSuffix represents what the name of a file under way
// ends with.
const (
	maxName    = 255
	tempSuffix = ".XXXXXXXXXXXXX"
)

// hashedName is a name of elfutils since 0.192: djb2 of the path in eight digits,
// and up to 117 of its last bytes.
func hashedName(s string) string {
	hash := uint32(5381)
	for i := range len(s) {
		hash = hash*33 + uint32(int8(s[i])) // char is signed on amd64
	}
	tail := []byte(s[max(0, len(s)-117):])
	for i, c := range tail {
		if !isWordByte(c) {
			tail[i] = '#'
		}
	}
	return fmt.Sprintf("%08x-%s", hash, tail)
}
