package graph_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hdb/heap/graph"
	"hdb/testprogs"
)

// TestMemcheck holds the sums of each kind against memcheck's, of programs whose blocks have vtables,
// counts of elements and lengths, and point to each other at random.
func TestMemcheck(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "kinds")
	testprogs.Tool(t, "valgrind")
	if out, err := exec.Command("g++", "-O1", "-o", program, filepath.Join("testdata", "kinds.cc")).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	seen := map[graph.Heuristics]int{}
	for seed := range testprogs.Rounds(2, 20) {
		out, err := exec.Command("valgrind", "--leak-check=full", "--show-leak-kinds=none", program, strconv.Itoa(seed)).CombinedOutput()
		if err != nil {
			t.Fatalf("valgrind: %v\n%s", err, out)
		}
		var want [4]graph.Sum
		for r := range want {
			want[r] = memcheckSum(t, graph.Reach(r).String(), string(out))
		}
		g := stopped(t, program, seed, filepath.Join(dir, "table"))
		if got := g.Sums(); got != want {
			t.Errorf("seed %d: %v, memcheck says %v", seed, got, want)
		}
		for i := range g.Stats().Blocks {
			for e := range g.To(i) {
				seen[e.Why]++
			}
		}
	}
	for _, h := range []graph.Heuristics{graph.StdString, graph.Length64, graph.NewArray, graph.MultipleInheritance} {
		if seen[h] == 0 {
			t.Errorf("no pointer counted by %v", h)
		}
	}
}

// memcheckSum is what its summary says of one kind.
func memcheckSum(t *testing.T, kind, out string) graph.Sum {
	t.Helper()
	m := regexp.MustCompile(kind + `: ([\d,]+) bytes in ([\d,]+) blocks`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no %q in\n%s", kind, out)
	}
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(strings.ReplaceAll(s, ",", ""), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return graph.Sum{Blocks: int(number(m[2])), Bytes: number(m[1])}
}

// stopped is the graph of the program, which has stopped itself.
func stopped(t *testing.T, program string, seed int, table string) *graph.Graph {
	t.Helper()
	cmd := exec.Command(program, strconv.Itoa(seed), table)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill() // it has been stopped
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var start, end uint64
	if _, err := fmt.Sscanf(line, "roots 0x%x 0x%x", &start, &end); err != nil {
		t.Fatal(line, err)
	}
	b, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []graph.Block
	for ; len(b) >= 16; b = b[16:] {
		blocks = append(blocks, graph.Block{Addr: binary.LittleEndian.Uint64(b), Size: binary.LittleEndian.Uint64(b[8:])})
	}
	slices.SortFunc(blocks, func(a, b graph.Block) int { return cmp.Compare(a.Addr, b.Addr) })
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	o := graph.Options{}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		var r graph.Range
		var perm string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &r.Start, &r.End, &perm); err != nil || !strings.Contains(line, " /") {
			continue
		}
		if perm[0] == 'r' {
			o.Files = append(o.Files, r)
		}
		if perm[2] == 'x' {
			o.Code = append(o.Code, r)
		}
	}
	g, err := graph.Build(context.Background(), memory, graph.BlocksOf(blocks), graph.Roots{Ranges: []graph.Root{{Start: start, End: end}}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
