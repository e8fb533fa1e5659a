package probe

import (
	"bytes"
	"testing"

	"hdb/inferior"
	"hdb/internal/addr"
)

// TestOwnConditions: the code of conditions is known by its beginning, in mappings that the kernel has
// merged, too; other code is not.
func TestOwnConditions(t *testing.T) {
	const low = addr.Run(0x10000)
	mem := make([]byte, 4*islandSize)
	copy(mem[islandSize:], screensName)
	copy(mem[2*islandSize:], screensName)
	at := func(first, last int) inferior.Mapping {
		return inferior.Mapping{Low: low + addr.Run(first*islandSize), High: low + addr.Run(last*islandSize), Perm: "r-xp"}
	}
	read := offsetReader{bytes.NewReader(mem), int64(low)}
	for _, c := range []struct {
		m       inferior.Mapping
		own     int
		covered bool
	}{
		{at(0, 1), 0, false}, {at(1, 2), 1, true}, {at(1, 3), 2, true}, {at(0, 3), 2, false}, {at(1, 4), 2, false},
	} {
		all := Own([]inferior.Mapping{c.m}, read)
		if len(all) != c.own || Covers(all, c.m) != c.covered {
			t.Errorf("%v-%v: own %+v, covered %v", c.m.Low, c.m.High, all, Covers(all, c.m))
		}
	}
	data := at(1, 2)
	data.Perm = "rw-p"
	if all := Own([]inferior.Mapping{data}, read); len(all) != 0 {
		t.Errorf("data: %+v", all)
	}
}

// An offsetReader is memory that begins at an address.
type offsetReader struct {
	*bytes.Reader
	low int64
}

func (r offsetReader) ReadAt(b []byte, at int64) (int, error) { return r.Reader.ReadAt(b, at-r.low) }
