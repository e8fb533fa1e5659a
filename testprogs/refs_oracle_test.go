package testprogs

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestRefsAgainstScan reads all writable memory of real programs itself, and wants of refs each aligned word there that
// is an address in the block, and no other. Python is in C, gdb in C++ with threads. The words that refs leaves out lie
//
//   - below the red zone of a stack: nothing is there any more;
//   - in what the allocator has for itself: free chunks and caches, which may still hold old words, the heads of chunks, its arenas.
func TestRefsAgainstScan(t *testing.T) {
	const script = "import time, json\nd = {str(i): [i] * 3 for i in range(3000)}\nd = json.loads(json.dumps(d))\ntime.sleep(10000)\n"
	for _, c := range []struct {
		name string
		argv []string
	}{
		{"python", []string{"/usr/bin/python3", "-c", script}},
		{"gdb", []string{"gdb", "-nx", "-q", "-ex", "info line main", Build(t, "heldobjects")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := startWaiting(t, c.argv)
			where := []string{"size < 40", "size < 150", "size < 1000", "size < 100000"}
			var commands []string
			for _, cond := range where {
				commands = append(commands, "live 40 if "+cond)
			}
			pid := strconv.Itoa(p)
			answers := ask(t, true, []string{"-p", pid}, commands)
			var blocks []scanned
			for _, command := range commands {
				blocks = append(blocks, walkedRows(t, answers[command])...)
			}
			slices.SortFunc(blocks, func(a, b scanned) int { return int(int64(a.at - b.at)) })
			blocks = slices.CompactFunc(blocks, func(a, b scanned) bool { return a.at == b.at })
			scan(t, p, blocks)
			compareRefs(t, pid, blocks)
		})
	}
}

// A scanned block has the places that an aligned word lies at which is an address in it.
type scanned struct {
	at, size uint64
	from     []uint64
}

// startWaiting starts a program and waits until it waits.
func startWaiting(t *testing.T, argv []string) int {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "PYTHONMALLOC=malloc", "DEBUGINFOD_URLS=")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	last, same := "", 0
	for same < 20 { // a second without using the processor
		time.Sleep(50 * time.Millisecond)
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		f := strings.Fields(rest)
		if now := f[0] + f[11] + f[12]; now == last && f[0] == "S" {
			same++
		} else {
			last, same = now, 0
		}
		if t.Context().Err() != nil {
			t.Fatal("it does not come to wait")
		}
	}
	return cmd.Process.Pid
}

func walkedRows(t *testing.T, answer string) (blocks []scanned) {
	var v struct {
		Rows []struct {
			Block string
			Size  uint64 `json:"block_size"`
		}
	}
	if err := json.Unmarshal([]byte(answer), &v); err != nil || len(v.Rows) == 0 {
		t.Fatalf("%v: %.300s", err, answer)
	}
	for _, r := range v.Rows {
		blocks = append(blocks, scanned{at: addressOf(t, r.Block), size: r.Size})
	}
	return blocks
}

func addressOf(t *testing.T, s string) uint64 {
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// scan notes each aligned word of writable memory that is an address in one of the blocks, which ascend.
func scan(t *testing.T, pid int, blocks []scanned) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	for line := range strings.Lines(string(maps)) {
		var low, high uint64
		var perm string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &low, &high, &perm); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(perm, "rw") {
			continue
		}
		b := make([]byte, high-low)
		if n, err := mem.ReadAt(b, int64(low)); n < len(b) && err != nil && err != io.EOF {
			t.Logf("%s: %v", strings.TrimSpace(line), err)
		}
		for o := 0; o < len(b); o += 8 {
			word := binary.LittleEndian.Uint64(b[o:])
			i, ok := slices.BinarySearchFunc(blocks, word, func(x scanned, word uint64) int { return int(int64(x.at - word)) })
			if !ok {
				i--
			}
			if i >= 0 && word-blocks[i].at < blocks[i].size {
				blocks[i].from = append(blocks[i].from, low+uint64(o))
			}
		}
	}
}

// compareRefs holds what refs tells of each block against the scan.
func compareRefs(t *testing.T, pid string, blocks []scanned) {
	var commands []string
	for _, b := range blocks {
		commands = append(commands, fmt.Sprintf("refs %#x all", b.at))
	}
	answers := ask(t, true, []string{"-p", pid}, commands)
	var missing []uint64
	found := 0
	for i, b := range blocks {
		var v struct {
			Total   int
			Holders []struct{ Kind, Address string }
		}
		if err := json.Unmarshal([]byte(answers[commands[i]]), &v); err != nil || v.Total != len(v.Holders) {
			t.Fatalf("%v: %.300s", err, answers[commands[i]])
		}
		told := map[uint64]bool{}
		for _, h := range v.Holders {
			if h.Address == "" { // a register, or what the C library keeps of a thread
				continue
			}
			at := addressOf(t, h.Address)
			if told[at] = true; !slices.Contains(b.from, at) {
				t.Errorf("refs %#x: %#x, a %s, holds no address in the block", b.at, at, h.Kind)
			}
		}
		found += len(told)
		for _, at := range b.from {
			if !told[at] {
				missing = append(missing, at)
			}
		}
	}
	if found < len(blocks)/2 {
		t.Errorf("%d references to %d blocks", found, len(blocks))
	}
	slices.Sort(missing)
	explained := leftOut(t, pid, slices.Compact(missing))
	t.Logf("%d blocks, %d references; left out: %v", len(blocks), found, explained)
}

// leftOut counts, by the reason, words that refs does not list, of which each must have one.
func leftOut(t *testing.T, pid string, words []uint64) map[string]int {
	why := map[string]int{}
	if len(words) == 0 {
		return why
	}
	var commands []string
	for _, at := range words {
		commands = append(commands, fmt.Sprintf("what %#x", at))
	}
	answers := ask(t, true, []string{"-p", pid}, commands)
	for i, at := range words {
		var v struct {
			Region struct{ Kind string }
			Block  string
			Chunk  struct {
				Address string
				Size    uint64
				State   string `json:"chunk_state"`
			}
		}
		if err := json.Unmarshal([]byte(answers[commands[i]]), &v); err != nil {
			t.Fatalf("%v: %s", err, answers[commands[i]])
		}
		switch k := v.Region.Kind; {
		case k == "stack-unused" || k == "stack-ended":
			why[k]++
		case k == "heap" && v.Block == "":
			why["heap, "+v.Chunk.State]++
		default:
			t.Errorf("%#x holds an address in a block, and refs does not say so: %.400s", at, answers[commands[i]])
		}
	}
	return why
}
