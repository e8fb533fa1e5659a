package testprogs

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sums are what a heap profiler counts of a whole run.
type sums struct{ allocs, bytes, temporary, leaked, peak uint64 }

// beside is how heaptrack's numbers differ from hdb's. pools counts the bytes of
// libstdc++'s pool for exceptions.
type beside struct{ allocs, bytes, temporary, leaked, peak, poolBytes, poolLeaked, poolPeak int64 }

// The differences, each with its reason:
//
//	number     heaptrack       reason
//	allocs     1 more          heaptrack's library brings libstdc++ into programs of C. That allocates a pool for
//	bytes      the pool more   exceptions when it is loaded.
//	peak       the pool more
//	temporary  1 more          when the pool is freed, as libstdc++ is told to at the end, and another free was just
//	                           before: after a free heaptrack_print sets the number of the last block to 0, which
//	                           is that of the first (AccumulatedTraceData::read)
//	leaked     the pool less   in programs of C++, which without heaptrack keep the pool to the end
//	leaked     10 more,        realloc(q, 0) frees the block and returns NULL, which heaptrack takes for a failure
//	temporary  1 less
//
// Programs with other differences are not compared: where two blocks of one size and
// stack are alive, heaptrack_print takes the end of the first for one of the second;
// it does not take a block for temporary when another was freed in between; and the
// libraries that it preloads make glibc's tables for the TLS of threads larger.
func besides() map[string]beside {
	withPool := beside{allocs: 1, temporary: 1, poolBytes: 1, poolPeak: 1}
	onlyOne, zero := withPool, withPool
	onlyOne.temporary = 0 // nothing is freed before the pool is
	zero.leaked, zero.temporary = 10, 0
	return map[string]beside{
		"phases": withPool, "basic": withPool, "sizes": withPool, "fail": onlyOne, "realloc": zero,
		"cxxnew": {temporary: 1, poolLeaked: -1},
	}
}

// TestStatsAreHeaptracks compares the numbers of `hdb stats` with heaptrack's, DHAT's
// and massif's of the same programs, each of a run of its own. Those of valgrind's
// tools are the same.
func TestStatsAreHeaptracks(t *testing.T) {
	phases := Build(t, "phases")
	pool := int64(heaptrackSums(t, phases).bytes - hdbSums(t, phases).bytes)
	if pool < 1<<10 || pool > 1<<20 {
		t.Fatalf("the pool of libstdc++ would have %d bytes", pool)
	}
	for name, differ := range besides() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name != "phases" && name != "realloc" && name != "cxxnew" {
				t.Skip("heaptrack takes a while: the others are enough with -short")
			}
			path := Build(t, name)
			ours := hdbSums(t, path)
			plus := func(n uint64, differs, pools int64) uint64 { return uint64(int64(n) + differs + pools*pool) }
			want := sums{
				plus(ours.allocs, differ.allocs, 0), plus(ours.bytes, differ.bytes, differ.poolBytes), plus(ours.temporary, differ.temporary, 0),
				plus(ours.leaked, differ.leaked, differ.poolLeaked), plus(ours.peak, differ.peak, differ.poolPeak),
			}
			if got := heaptrackSums(t, path); got != want {
				t.Errorf("heaptrack counts %+v; by hdb's %+v it should be %+v", got, ours, want)
			}
			got := dhatSums(t, path)
			got.temporary = ours.temporary // it counts none
			if got != ours {
				t.Errorf("DHAT counts %+v, hdb %+v", got, ours)
			}
			// massif forgets a block whose realloc fails, which then cannot be grown, and
			// looks for a peak when a block is freed.
			if name == "realloc" || name == "sizes" {
				return
			}
			if got := massifPeak(t, path); got != ours.peak {
				t.Errorf("massif has a peak of %d bytes, hdb of %d", got, ours.peak)
			}
		})
	}
}

// hdbSums records the program and counts.
func hdbSums(t *testing.T, path string) sums {
	t.Helper()
	file := filepath.Join(t.TempDir(), "r.hdb")
	if out, err := exec.Command(HDB(t), "record", "-q", "-o", file, path).CombinedOutput(); err != nil {
		t.Fatalf("hdb record: %v\n%s", err, out)
	}
	out, err := exec.Command(HDB(t), "stats", "--json", file).Output()
	if err != nil {
		t.Fatalf("hdb stats: %v\n%s", err, out)
	}
	var s struct {
		Allocs    *uint64 `json:"allocations"`
		Bytes     *uint64 `json:"allocated_bytes"`
		Temporary *uint64 `json:"temporary_blocks"`
		Live      *uint64 `json:"live_bytes"`
		Peak      *uint64 `json:"peak_bytes"`
		Lost      *uint64 `json:"lost_events"`
	}
	if err := json.Unmarshal(out, &s); err != nil || s.Allocs == nil || s.Bytes == nil || s.Temporary == nil || s.Live == nil || s.Peak == nil || s.Lost == nil {
		t.Fatalf("hdb stats: %v\n%s", err, out)
	}
	if *s.Lost > 0 {
		t.Fatalf("%d calls were lost", *s.Lost)
	}
	return sums{*s.Allocs, *s.Bytes, *s.Temporary, *s.Live, *s.Peak}
}

// heaptrackSums adds up what heaptrack_print writes: unlike its totals, stacks and
// the histogram of sizes have all digits.
func heaptrackSums(t *testing.T, path string) sums {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command(Tool(t, "heaptrack"), "-o", filepath.Join(dir, "track"), path).CombinedOutput(); err != nil {
		t.Fatalf("heaptrack: %v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "track*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("heaptrack wrote %v, %v", files, err)
	}
	write := func(name string, args ...string) string {
		file := filepath.Join(dir, name)
		if out, err := exec.Command(Tool(t, "heaptrack_print"), append(args, file, files[0])...).CombinedOutput(); err != nil {
			t.Fatalf("heaptrack_print: %v\n%s", err, out)
		}
		return file
	}
	cost := func(kind string) (sum uint64) {
		fields(t, write(kind, "--flamegraph-cost-type", kind, "-F"), func(f []string) { sum += number(t, f[len(f)-1]) })
		return sum
	}
	var bytes uint64
	fields(t, write("sizes", "-H"), func(f []string) { bytes += number(t, f[0]) * number(t, f[1]) })
	return sums{cost("allocations"), bytes, cost("temporary"), cost("leaked"), cost("peak")}
}

// fields are the words of each line of a file.
func fields(t *testing.T, path string, each func([]string)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) >= 2 {
			each(words)
		}
	}
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.ReplaceAll(text, ",", ""), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var dhatRow = regexp.MustCompile(`(?m)(Total|At t-gmax|At t-end): +([0-9,]+) bytes in ([0-9,]+) blocks`)

// dhatSums are those that valgrind's DHAT prints at the end, without what libc and
// libstdc++ free for it then.
func dhatSums(t *testing.T, path string) sums {
	t.Helper()
	out, err := exec.Command(Tool(t, "valgrind"), "--tool=dhat", "--run-libc-freeres=no", "--run-cxx-freeres=no",
		"--dhat-out-file="+filepath.Join(t.TempDir(), "dhat"), path).CombinedOutput()
	rows := dhatRow.FindAllStringSubmatch(string(out), -1)
	if err != nil || len(rows) != 3 {
		t.Fatalf("valgrind: %v\n%s", err, out)
	}
	return sums{allocs: number(t, rows[0][3]), bytes: number(t, rows[0][2]), peak: number(t, rows[1][2]), leaked: number(t, rows[2][2])}
}

var massifHeap = regexp.MustCompile(`(?m)^mem_heap_B=([0-9]+)$`)

// massifPeak is the highest of massif's snapshots, without what its blocks have beyond
// the bytes that were asked for.
func massifPeak(t *testing.T, path string) (peak uint64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "massif")
	if out, err := exec.Command(Tool(t, "valgrind"), "--tool=massif", "--peak-inaccuracy=0.0", "--depth=1", "--massif-out-file="+file, path).CombinedOutput(); err != nil {
		t.Fatalf("valgrind: %v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range massifHeap.FindAllStringSubmatch(string(text), -1) {
		peak = max(peak, number(t, m[1]))
	}
	return peak
}
