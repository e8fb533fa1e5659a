package layout

import (
	"encoding/binary"
	"errors"
	"testing"

	"hdb/internal/addr"
)

// TestVersions has a layout for each version that hdb reads, and none for others.
func TestVersions(t *testing.T) {
	for minor := 7; minor <= 14; minor++ {
		l := Of(minor)
		if known := minor >= 8 && minor <= 13; (l != nil) != known {
			t.Errorf("3.%d: %v", minor, l)
		}
		if l == nil {
			continue
		}
		if l.Minor != minor {
			t.Errorf("3.%d has the layout of 3.%d", minor, l.Minor)
		}
		if (l.Frame.Units == 0) != l.Generator.Embedded || l.Generator.Embedded != (l.FrameObject.Frame != 0) {
			t.Errorf("3.%d: frames: %+v %+v %+v", minor, l.Frame, l.Generator, l.FrameObject)
		}
		if (l.Code.Bytecode == 0) == (l.Code.Instructions == 0) || l.Code.Fields() > l.Code.Size {
			t.Errorf("3.%d: code: %+v", minor, l.Code)
		}
		if (l.Managed.Dict != 0) != (l.Keys.Kind != 0) {
			t.Errorf("3.%d: attributes: %+v %+v", minor, l.Managed, l.Keys)
		}
	}
}

// TestKeys decodes a dict of three entries in both forms.
func TestKeys(t *testing.T) {
	put := binary.LittleEndian.PutUint64
	old := make([]byte, 40)
	put(old, 1)
	put(old[8:], 8)
	put(old[24:], 2)
	put(old[32:], 3)
	now := make([]byte, 32)
	put(now, 1)
	copy(now[8:], []byte{3, 3, 1}) // all keys are texts
	put(now[16:], 2)
	put(now[24:], 3)
	for minor := 8; minor <= 13; minor++ {
		b, want := now, Table{Refs: 1, At: 0x1028, Entry: 16, Entries: 3, Usable: 2, Capacity: 5, Bytes: 32 + 8 + 5*16}
		if minor < 11 {
			b, want = old, Table{Refs: 1, At: 0x1030, Entry: 24, Hashed: true, Entries: 3, Usable: 2, Capacity: 5, Bytes: 40 + 8 + 5*24}
		}
		if got, ok := Of(minor).Keys.Decode(0x1000, b); !ok || got != want {
			t.Errorf("3.%d: %+v, %v; want %+v", minor, got, ok, want)
		}
		bad := append([]byte(nil), b...)
		put(bad[Of(minor).Keys.Entries:], 6) // more than there is room for
		if got, ok := Of(minor).Keys.Decode(0x1000, bad); ok {
			t.Errorf("3.%d: %+v of what is no dict", minor, got)
		}
	}
}

// memory is words by address.
type memory map[addr.Run]uint64

func (m memory) read(at addr.Run) (uint64, error) {
	n, ok := m[at]
	if !ok {
		return 0, errors.New("no memory")
	}
	return n, nil
}

// TestAttributes finds the attributes of objects in each place where versions have them.
func TestAttributes(t *testing.T) {
	const at, dict, values = 0x1000, 0x2000, 0x3000
	own := Class{Basic: 48, DictAt: 16}
	managed := Class{Flags: ManagedDict, Basic: 16}
	inline := Class{Flags: ManagedDict | InlineValues, Basic: 16}
	for _, c := range []struct {
		name         string
		minor        int
		class        Class
		mem          memory
		dict, values addr.Run
		fails        bool
	}{
		{"none", 13, Class{Basic: 16}, nil, 0, 0, false},
		{"a field", 8, own, memory{at + 16: dict}, dict, 0, false},
		{"a field, of a version with others", 13, own, memory{at + 16: dict}, dict, 0, false},
		{"behind two elements", 11, Class{Basic: 24, Item: 4, DictAt: -8}, memory{at + 16: 2, at + 24: dict}, dict, 0, false},
		{"behind as many, below 0", 11, Class{Basic: 24, Item: 4, DictAt: -8}, memory{at + 16: 1<<64 - 2, at + 24: dict}, dict, 0, false},
		{"outside of the object", 8, Class{Basic: 16, DictAt: 24}, nil, 0, 0, false},
		{"before it", 11, managed, memory{at - 24: dict, at - 32: 0}, dict, 0, false},
		{"values before it", 11, managed, memory{at - 24: 0, at - 32: values}, 0, values, false},
		{"a dict, 3.12", 12, managed, memory{at - 24: dict}, dict, 0, false},
		{"values, 3.12", 12, managed, memory{at - 24: values - 1}, 0, values, false},
		{"inline values", 13, inline, memory{at - 24: 0, at + 16: 1 << 24}, 0, at + 16, false},
		{"inline values that a dict has taken", 13, inline, memory{at - 24: dict, at + 16: 0}, dict, 0, false},
		{"a dict without inline values", 13, managed, memory{at - 24: dict}, dict, 0, false},
		{"not readable", 13, managed, nil, 0, 0, true},
	} {
		d, v, err := Of(c.minor).Attributes(at, c.class, c.mem.read)
		if d != c.dict || v != c.values || (err != nil) != c.fails {
			t.Errorf("%s: %v, %v, %v; want %v, %v", c.name, d, v, err, c.dict, c.values)
		}
	}
}

// TestCounts has the signs and numbers of digits of ints.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		minor    int
		word     uint64
		digits   int64
		negative bool
	}{
		{11, 2, 2, false}, {11, 1<<64 - 2, 2, true}, {11, 0, 0, false},
		{12, 2 << 3, 2, false}, {12, 2<<3 | 2, 2, true}, {12, 1, 0, false},
	} {
		if n, negative := Of(c.minor).Int.Count(c.word); n != c.digits || negative != c.negative {
			t.Errorf("3.%d: %#x has %d digits, negative: %v", c.minor, c.word, n, negative)
		}
	}
}
