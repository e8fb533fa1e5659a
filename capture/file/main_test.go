package file

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"hdb/testprogs"
)

// TestMain has properties tried as often as the form of the test says, unless
// -rapid.checks does.
func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		if err := flag.Set("rapid.checks", strconv.Itoa(testprogs.Rounds(40, 100))); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
