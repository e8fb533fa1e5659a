package symbols_test

import (
	"hdb/symbols"
	"os"
	"testing"
)

func TestScratch(t *testing.T) {
	p := os.Getenv("TRY")
	if p == "" {
		t.Skip()
	}
	o, err := symbols.Open(p, symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	list := codeAddresses2(o, 3000)
	for _, tool := range []string{"addr2line", "llvm-symbolizer"} {
		compare(t, o, tool, list)
	}
}
