package capture

import (
	"bytes"
	"io"
	"testing"
)

// FuzzTools has whatever opens as a capture verified, repaired and made anonymous:
// what is made of it is whole.
func FuzzTools(f *testing.F) {
	for _, b := range seedCaptures(f) {
		f.Add(plain(f, b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		mended := mend(b)
		src, err := NewFile("fuzz.hdb", bytes.NewReader(mended), int64(len(mended)))
		if err != nil {
			return
		}
		src.Verify()
		src.Parts()
		var repaired bytes.Buffer
		if _, err := Repair(&repaired, src); err != nil {
			return
		}
		again, err := NewFile("repaired.hdb", bytes.NewReader(repaired.Bytes()), int64(repaired.Len()))
		if err != nil {
			t.Fatal(err)
		}
		wrong := again.Verify()
		if err := again.Damage(); err != nil || len(wrong) > 0 {
			t.Errorf("the repaired capture: %v, %q", err, wrong)
		}
		_, _ = Anonymize(io.Discard, src, Anonymity{}) // it may refuse
		_, _ = Merge(io.Discard, []*File{src, src})
	})
}
