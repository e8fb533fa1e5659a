package testprogs

import "testing"

func TestNormalise(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"same address, same name",
			"#1 malloc(10) = 0x5555555592a0\n#2 malloc(8) = 0x5555555592c0\nfree(0x5555555592a0)",
			"#1 malloc(10) = {addr1}\n#2 malloc(8) = {addr2}\nfree({addr1})"},
		{"leading zeros", "0x00007ffff7c00010 0x7ffff7c00010", "{addr1} {addr1}"},
		{"short numbers stay", "flags 0x246 at main+0x1c", "flags 0x246 at main+0x1c"},
		{"processes", "process 4711 forked 4712 (tid 4711), /proc/4712/maps", "process {pid1} forked {pid2} (tid {pid1}), /proc/{pid2}/maps"},
		{"vfork", "process 4711 vforked 4712: it runs without hdb", "process {pid1} vforked {pid2}: it runs without hdb"},
		{"child of a parent", "following child process 52 of 51; the last 20 of 25", "following child process {pid1} of {pid2}; the last 20 of 25"},
		{"threads", "*       3  17118  \"work\"  f\n        1  17077  \"t\"", "*  3  {pid1}  \"work\"  f\n        1  {pid2}  \"t\""},
		{"columns", "a     b   c\n=>  10      x   y", "a  b  c\n=>  10      x   y"},
		{"times", "thread 3   2.417 s\nin 12 ms, 0.5 us, 3s", "thread 3 {time}\nin {time}, {time}, {time}"},
		{"sizes and counts stay", "612.0 MiB 153 blocks, 3 stops", "612.0 MiB 153 blocks, 3 stops"},
		{"paths", "/home/u/hdb/testprogs/testdata/a.c:3 /cache/x/a", "{src}/a.c:3 {build}/a"},
		{"build IDs", "id c561f3aa7232f2bd6ac6d56bd475f1c154a00486", "id {build-id}"},
		{"rates", "-1.2 KiB/s and 1,204.5 blocks/s\n+2 B  -3.1 MiB/s  -4.0  main", "{rate}/s and {rate} blocks/s\n+2 B  {rate}/s  {rate}  main"},
		{"dates", "saved 2026-01-31 23:59:59, at 12:30:00, f.c:14:13", "saved {date}, at {clock}, f.c:14:13"},
		{"names of one function", "#1 aligned_alloc/memalign(32, 96 B) = NULL\n#2 aligned_alloc(4096, 8) = NULL, p = memalign(8, 8);\n#3 posix_memalign(8, 8) = NULL",
			"#1 {aligned_alloc}(32, 96 B) = NULL\n#2 {aligned_alloc}(4096, 8) = NULL, p = memalign(8, 8);\n#3 posix_memalign(8, 8) = NULL"},
		{"ends of lines", "a  \n\tb\t\r\n", "a\n\tb\n"},
	} {
		n := NewNormaliser([2]string{"/home/u/hdb/testprogs/testdata", "{src}"}, [2]string{"/cache/x", "{build}"})
		if got := n.Normalise(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestNormaliseOnce leaves its own result as it is, which -update relies on.
func TestNormaliseOnce(t *testing.T) {
	in := "#1 malloc(10) = 0x5555555592a0   thread 1   1.5 s\nprocess 123 {time} 2024-05-06"
	once := NewNormaliser().Normalise(in)
	if twice := NewNormaliser().Normalise(once); twice != once {
		t.Errorf("%q, then %q", once, twice)
	}
}

// musl's functions keep their names.
func TestNormaliseMusl(t *testing.T) {
	n := NewNormaliser()
	n.musl = true
	if in := "#1 aligned_alloc(32, 96 B) = NULL"; n.Normalise(in) != in {
		t.Errorf("%q became %q", in, n.Normalise(in))
	}
}
