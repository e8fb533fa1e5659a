package debuginfod

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const testID = "00112233445566778899aabbccddeeff00112233"

// elfFile is a small 64-bit ELF file with a build ID and a section .debug_info of that
// many bytes.
func elfFile(id string, size int) []byte {
	raw, err := hex.DecodeString(id)
	if err != nil {
		panic(err)
	}
	le := binary.LittleEndian
	note := le.AppendUint32(nil, 4)
	note = le.AppendUint32(note, uint32(len(raw)))
	note = le.AppendUint32(note, 3) // NT_GNU_BUILD_ID
	note = append(append(note, "GNU\x00"...), raw...)
	note = append(note, make([]byte, -len(note)&3)...)
	names := []byte("\x00.note.gnu.build-id\x00.debug_info\x00.shstrtab\x00")
	noteAt := 64
	infoAt := noteAt + len(note)
	namesAt := infoAt + size
	headersAt := namesAt + len(names)
	b := make([]byte, 64, headersAt+4*64)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], 3)
	le.PutUint16(b[18:], 62)
	le.PutUint64(b[40:], uint64(headersAt))
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[58:], 64)
	le.PutUint16(b[60:], 4)
	le.PutUint16(b[62:], 3)
	b = append(append(b, note...), bytes.Repeat([]byte{'d'}, size)...)
	b = append(append(b, names...), make([]byte, 64)...)
	for _, s := range [][4]int{{1, shtNote, noteAt, len(note)}, {20, 1, infoAt, size}, {32, 3, namesAt, len(names)}} {
		h := make([]byte, 64)
		le.PutUint32(h, uint32(s[0]))
		le.PutUint32(h[4:], uint32(s[1]))
		le.PutUint64(h[24:], uint64(s[2]))
		le.PutUint64(h[32:], uint64(s[3]))
		b = append(b, h...)
	}
	return b
}

// A fake is a server that counts what it is asked.
type fake struct {
	*httptest.Server
	asked atomic.Int32
}

func serve(t *testing.T, h http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.asked.Add(1)
		h(w, r)
	}))
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

func gives(b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(b) }
}

// newClient is a client with a cache of its own.
func newClient(t *testing.T, change func(*Config), urls ...string) *Client {
	t.Helper()
	cfg := Config{URLs: urls, CacheDir: filepath.Join(t.TempDir(), "cache"), Timeout: 20 * time.Second}
	if change != nil {
		change(&cfg)
	}
	c := New(cfg)
	t.Cleanup(c.Close)
	return c
}

// files lists the cache, with sizes.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && !strings.HasSuffix(path, "_s") {
			rel, _ := filepath.Rel(dir, path)
			list = append(list, fmt.Sprintf("%s %d", rel, info.Size()))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
