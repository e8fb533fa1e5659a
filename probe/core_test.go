package probe

import "testing"

func TestCoreLinks(t *testing.T) {
	c, err := loadCore(0x7777000011112222)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d marks", len(c.code), len(c.marks))
	for n := uint32(1); n <= markFault; n++ {
		if _, ok := c.marks[n]; !ok {
			t.Errorf("mark %d is nowhere", n)
		}
	}
}

func TestCoreFrames(t *testing.T) {
	c, err := loadCore(0x7777000011112222)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.trace()
	if err != nil {
		t.Fatal(err)
	}
	for n := uint32(1); n <= markFault; n++ {
		if n != markEnd && rows[c.marks[n]].cfa == 0 {
			t.Errorf("mark %d is never reached", n)
		}
	}
}
