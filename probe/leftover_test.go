package probe

import (
	"encoding/binary"
	"reflect"
	"testing"

	"hdb/inferior"
	"hdb/internal/addr"
)

func TestCard(t *testing.T) {
	l := &leftover{
		place:   placesLow + placeSize,
		islands: []addr.Run{0x7ffff0000000, 0x555515554000},
		entries: []addr.Run{0x7ffff7d00010, 0x7ffff7d00020, 0x555555555000},
		calls:   []openCall{{4711, 0x7fffffffe000}},
		pointers: []exchanged{
			{pointed{0x955068, 0x4cc9d0}, 0x7ffff0000400}, {pointed{0x955070, 0x4ccd70}, 0x7ffff0000440},
		},
	}
	page := make([]byte, cardSize)
	copy(page, l.card())
	if got := readCard(l.place, page); !reflect.DeepEqual(got, l) {
		t.Errorf("%+v, want %+v", got, l)
	}
	for name, change := range map[string]func([]byte){
		"no card":           func(b []byte) { clear(b[:8]) },
		"of another layout": func(b []byte) { b[8]++ },
		"too many islands":  func(b []byte) { b[16] = maxCardIslands + 1 },
		"too many calls":    func(b []byte) { binary.LittleEndian.PutUint64(b[24:], maxCardCalls+1) },
		"too many pointers": func(b []byte) { b[41]++ },
		"too many entries":  func(b []byte) { binary.LittleEndian.PutUint64(b[32:], 1<<63) },
	} {
		bad := append([]byte(nil), page...)
		change(bad)
		if got := readCard(l.place, bad); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	l.calls = make([]openCall, maxCardCalls+1)
	clear(page)
	copy(page, l.card())
	if got := readCard(l.place, page); got != nil {
		t.Error("a card with too many calls is read")
	}
}

// Only what a probe has mapped is unmapped.
func TestLeftoverMapped(t *testing.T) {
	const place, island = addr.Run(placesLow), addr.Run(0x7fffb0000000)
	l := &leftover{place: place, islands: []addr.Run{island}}
	memory := inferior.Mapping{Low: place + placeFile, High: place + placeFile + fileRing, Perm: "rw-s", Path: "/memfd:hdb probe", Deleted: true}
	core := inferior.Mapping{Low: place + placeCore, High: place + placeCard + cardSize, Perm: "r-xp"}
	code := inferior.Mapping{Low: island, High: island + 2*islandSize, Perm: "r-xp"}
	other := inferior.Mapping{Low: place + placeRing, High: place + placeRing + 4096, Perm: "rw-p", Path: "/tmp/other"}
	heap := inferior.Mapping{Low: island, High: island + islandSize, Perm: "rw-p"}
	for _, c := range []struct {
		name string
		maps []inferior.Mapping
		want bool
	}{
		{"all", []inferior.Mapping{memory, core, code}, true},
		{"a file of the program's among it", []inferior.Mapping{memory, other, core, code}, false},
		{"its island is gone", []inferior.Mapping{memory, core}, false},
		{"something else is there", []inferior.Mapping{memory, core, heap}, false},
	} {
		if got := l.mapped(c.maps); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if !l.covers(island) || l.covers(island+islandSize) || !l.covers(place+placeCore) || l.covers(place+placeCard) {
		t.Error("what is code of it")
	}
}
