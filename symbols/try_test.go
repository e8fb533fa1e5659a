package symbols

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestTry(t *testing.T) {
	p := os.Getenv("TRY")
	if p == "" {
		t.Skip()
	}
	o, err := Open(p, Config{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%+v\n", o.Info())
	out, _ := exec.Command("objdump", "-d", "--no-show-raw-insn", p).Output()
	n := 0
	for _, l := range strings.Split(string(out), "\n") {
		var a uint64
		if _, err := fmt.Sscanf(l, " %x:", &a); err == nil {
			n++
			if n%3 == 0 {
				fmt.Printf("%x %+v\n", a, o.Lookup(0+o.Segments()[0].Addr-o.Segments()[0].Addr+(o.elf.Entry-o.elf.Entry)+fileAddr(a)))
			}
		}
	}
}
