package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// grouped writes a number with commas, as prose does.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// The numbers that docs/probe.md tells are those of the code.
func TestDocumentedNumbers(t *testing.T) {
	text, err := os.ReadFile("../docs/probe.md")
	if err != nil {
		t.Fatal(err)
	}
	prose := strings.Join(strings.Fields(string(text)), " ")
	const kib, mib = 1 << 10, 1 << 20
	c, rows := tracedCore(t)
	deepest := int32(0)
	for _, r := range rows {
		if r.cfa < frameSize+8+wideSize { // but for copied arguments
			deepest = max(deepest, r.cfa)
		}
	}
	if len(c.code) < 14*kib || len(c.code) > 16*kib {
		t.Errorf("the core has %d bytes, not some 15 KiB", len(c.code))
	}
	for _, phrase := range []string{
		fmt.Sprintf("| state | %d KiB | `%#x` |", stateSize/kib, placesLow),
		fmt.Sprintf("| scratch | %d KiB for each of %s threads |", scratchSize/kib, grouped(numSlots)),
		fmt.Sprintf("| memory file | %d MiB | `%#x` | shared; the first %d MiB read and write", (fileRing+mib-1)/mib, placesLow+placeFile, fileRules/mib),
		fmt.Sprintf("| ring | %d MiB, of a Go program %d MiB, mapped twice in a row | `%#x` |", ringSize/mib, largeRing/mib, placesLow+placeRing),
		fmt.Sprintf("| core | %d KiB | `%#x` |", maxCore/kib, placesLow+placeCore),
		fmt.Sprintf("| card | %d KiB | behind the core |", cardSize/kib),
		fmt.Sprintf("| islands | %d MiB each |", islandSize/mib),
		fmt.Sprintf("%s *slots* of %d bytes", grouped(numSlots), slotSize),
		fmt.Sprintf("a shadow stack of %d entries", shadowDepth),
		fmt.Sprintf("a frame of %d bytes", frameSize),
		fmt.Sprintf("at most %d bytes on the program's stack below the return address", deepest-8),
		fmt.Sprintf("%d bytes of them are copied", wideSize),
		fmt.Sprintf("a cache of %s entries", grouped(1<<cacheBits)),
		fmt.Sprintf("%s at most", grouped(maxDepth)),
		fmt.Sprintf("a table of 2^%d words", stackBits),
		fmt.Sprintf("It is one of %d places in a row among the first 2^%d words, else among the others of the first 2^%d, and so on", stackTry, stackFew, stackFew+stackMore),
		fmt.Sprintf("When all %d are taken", stackTry*stackLevels),
		fmt.Sprintf("room for %d words. A deeper stack has a chain of entries, %d at most", memoWords, memoLong/memoWords),
		fmt.Sprintf("one walk in %d may take", memoRare),
		fmt.Sprintf("match again, up to %s times", grouped(offerTries)),
		fmt.Sprintf("that is %s frames", grouped(memoLong/2)),
		fmt.Sprintf("one memo of %s entries of %d bytes, %d MiB", grouped(1<<memoBits), memoEntry, memoSize/mib),
		fmt.Sprintf("more than %s such words", grouped(memoLong)),
		fmt.Sprintf("up to %d ms in a batch of %s records", patience/time.Millisecond, grouped(batch)),
		fmt.Sprintf("%d ms at most, and a second when none came meanwhile", pause/time.Millisecond),
		fmt.Sprintf("threads beyond %d named ones", maxThreadCells),
		fmt.Sprintf("more than %d allocator functions", maxSites),
		fmt.Sprintf("the probe has room for %d", maxModules),
		fmt.Sprintf("in one of 2^%d words", markBits),
		fmt.Sprintf("More than %s threads at a time", grouped(numSlots)),
		fmt.Sprintf("and %s at most, they are cut", grouped(maxDepth)),
		fmt.Sprintf("Functions that take more than %d bytes of arguments", wideSize),
		"2^22-1 none, 2^22-2 the one", // noStack and the one before it
	} {
		if !strings.Contains(prose, phrase) {
			t.Errorf("docs/probe.md does not say %q", phrase)
		}
	}
	if noStack != 1<<22-1 {
		t.Errorf("noStack = %#x", noStack)
	}
}

// The reasons for plain breakpoints stand in the code as they do there.
func TestDocumentedReasons(t *testing.T) {
	text, err := os.ReadFile("../docs/probe.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## When plain breakpoints are used instead")
	section, _, ok := strings.Cut(section, "\n## ")
	if !ok {
		t.Fatal("no such section")
	}
	var code strings.Builder
	for _, glob := range []string{"*.go", "reloc/*.go", "../inferior/*.go", "../goruntime/*.go"} {
		files, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if b, err := os.ReadFile(f); err == nil && !strings.HasSuffix(f, "_test.go") {
				code.Write(b)
			}
		}
	}
	// What is a constant or a name there is a verb in the code.
	verbs := strings.NewReplacer("4095", "%d", "1024", "%d", raiseName, "%s", findFDEName, "%s")
	placeholder := regexp.MustCompile(`\b(FUNCTION|MODULE|A|B|N|REASON)\b|\.\.\.|[:;,()] ?|in the process`)
	seen := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || strings.HasPrefix(cells[1], "--") {
			continue
		}
		for _, part := range placeholder.Split(cells[1], -1) {
			part = verbs.Replace(strings.TrimSpace(part))
			if len(part) < 12 {
				continue
			}
			seen++
			if !strings.Contains(code.String(), part) {
				t.Errorf("%q is no reason in the code", part)
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d parts of reasons", seen)
	}
}
