package reloc

import "testing"

func TestFlagsUnused(t *testing.T) {
	for _, c := range []struct {
		code string
		want bool
		what string
	}{
		{"\x89\x7d\xec\x83\x7d\xec\x05", true, "mov; cmp"},
		{"\xc7\x45\xfc\x00\x00\x00\x00\xeb\x10", false, "mov; jmp: what follows is elsewhere"},
		{"\x48\x89\xe5\xe8\x00\x00\x00\x00", true, "mov; call"},
		{"\x5d\xc3", true, "pop; ret"},
		{"\x89\xf8\x74\x05\x83\xc0\x01", false, "mov; je"},
		{"\x89\xf8\x11\xd0", false, "mov; adc"},
		{"\x0f\x94\xc0\x83\xc0\x01", false, "sete"},
		{"\xff\xc0\x83\xc0\x01", false, "inc leaves the carry flag"},
		{"\xd3\xe0\x83\xc0\x01", false, "shl by cl may leave all"},
		{"\xc5\xf8\x77\x83\xc0\x01", false, "vzeroupper: not known"},
		{"\x89\xf8", false, "the code ends"},
		{"", false, "nothing"},
	} {
		if got := FlagsUnused([]byte(c.code)); got != c.want {
			t.Errorf("%s: %t", c.what, got)
		}
	}
}

func TestBranchesInside(t *testing.T) {
	const at, from, covered = 0x1000, 0x1004, 6
	for _, c := range []struct {
		code string
		ok   bool
		what string
	}{
		{"\x55\x48\x89\xe5\x89\x7d\xec\x89\x75\xe8\x5d\xc3", true, "straight code"},
		{"\x55\x48\x89\xe5\x89\x7d\xec\x89\x75\xe8\xeb\xfb\xc3", false, "jmp to +3"},
		{"\x55\x48\x89\xe5\x89\x7d\xec\x89\x75\xe8\xeb\xf8\xc3", true, "a loop to the place"},
		{"\xeb\x05\x89\xe5\x89\x7d\xec\x89\x75\xe8\x5d\xc3", false, "jmp from before"},
		{"\x55\x48\x89\xe5\x89\x7d\xec\x89\x75\xe8\xff\xe0\xc3", false, "jmp *%rax"},
		{"\x55\x48\x89\xe5\x89\x7d\xec\x89\x75\xe8\x41\xff\x24\xc4\xc3", false, "jmp *(%r12,%rax,8)"},
		{"\x55\x48\x89\xe5\x89\x7d\xec\x89\x75\xe8\xff\xd0\xc3", true, "call *%rax"},
		{"\x55\x48\x89\xe5\x89\x7d\xec\x89\x75\xe8\x06\xc3", false, "no instruction"},
	} {
		err := BranchesInside([]byte(c.code), at, from, covered)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
