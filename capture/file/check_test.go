package file

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// Verify finds what checksums cannot.
func TestVerifyFindsLies(t *testing.T) {
	_, b := session(t, 5000)
	lie := func(kind chunkKind, id int, change func([]byte) []byte) []byte {
		return rewrite(t, b, func(k chunkKind, payload []byte) (chunkKind, []byte) {
			if k != kind {
				return k, payload
			}
			var u unpacker
			s, err := u.sections(payload)
			if err != nil {
				t.Fatal(err)
			}
			return k, replaceSection(t, payload, id, appendStored(nil, id, change(bytes.Clone(s[id]))))
		})
	}
	for name, tc := range map[string]struct {
		b    []byte
		want string
	}{
		"summary": {lie(chunkEvents, secSummary, func(b []byte) []byte { b[len(b)-1]++; return b }), "the summary is of others"},
	} {
		f := readBack(t, tc.b)
		if wrong := f.Verify(); !slices.ContainsFunc(wrong, func(s string) bool { return strings.Contains(s, tc.want) }) {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}
