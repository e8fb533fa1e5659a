package real

import (
	"crypto/sha256"
	"testing"
)

// TestSameTwice has every program do its work, print something, and do the
// same again.
func TestSameTwice(t *testing.T) {
	for _, p := range All(t) {
		t.Run(p.Name, func(t *testing.T) {
			first, err := p.Cmd().Output()
			if err != nil {
				t.Fatalf("%v: %v", p.Cmd(), err)
			}
			second, err := p.Cmd().Output()
			if err != nil {
				t.Fatal(err)
			}
			if len(first) == 0 || sha256.Sum256(first) != sha256.Sum256(second) {
				t.Errorf("printed %q, then %q", first, second)
			}
			t.Logf("%d bytes", len(first))
		})
	}
}
