package edit

import (
	"bytes"
	"io"
	"testing"

	"hdb/capture/capturetest"
	"hdb/capture/file"
)

// FuzzTools has whatever opens as a capture verified, repaired and made anonymous:
// what is made of it is whole.
func FuzzTools(f *testing.F) {
	for _, events := range []int{0, 3, 300} {
		f.Add(unpacked(f, program(f, capturetest.SampleInfo, 1, events, 100)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = mended(b)
		src, err := file.NewFile("fuzz.hdb", bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		src.Verify()
		src.Parts()
		var repaired bytes.Buffer
		if _, err := Repair(&repaired, src); err != nil {
			return
		}
		again, err := file.NewFile("repaired.hdb", bytes.NewReader(repaired.Bytes()), int64(repaired.Len()))
		if err != nil {
			t.Fatal(err)
		}
		wrong := again.Verify()
		if err := again.Damage(); err != nil || len(wrong) > 0 {
			t.Errorf("the repaired capture: %v, %q", err, wrong)
		}
		_, _ = Anonymize(io.Discard, src, Anonymity{}) // it may refuse
		_, _ = Merge(io.Discard, []*file.File{src, src})
	})
}
