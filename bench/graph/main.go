// Command graph builds the graph of the heap of bench/testdata/tree.c and prints what it took; with
// -hdb it attaches hdb instead, and has it tell the leaks. Package bench runs it as a process of its own, for its memory.
//
//	graph [-retained] [-hdb HDB] PROGRAM BLOCKS TABLE
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"hdb/heap/graph"

	"golang.org/x/sys/unix"
)

func main() {
	retained := flag.Bool("retained", false, "retained sizes, too")
	workers := flag.Int("workers", 0, "`number` of goroutines; 0: of processors")
	hdb := flag.String("hdb", "", "`path` of hdb, which is to tell the leaks")
	flag.Parse()
	if flag.NArg() != 3 {
		flag.Usage()
		os.Exit(2)
	}
	if err := start(flag.Args(), func(pid, root string) error {
		if *hdb != "" {
			return leaks(*hdb, pid)
		}
		return run(pid, flag.Arg(2), root, *workers, *retained)
	}); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// start runs the program until it has stopped itself, and then what is to be done with it.
func start(argv []string, then func(pid, root string) error) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // whose end is the program's
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill() // it has ended
		_ = cmd.Wait()
	}()
	var root string
	if _, err := fmt.Fscanf(out, "root %s\n", &root); err != nil {
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	for {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			return err
		}
		if _, rest, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(rest, "T") {
			return then(pid, root)
		}
		time.Sleep(time.Millisecond)
	}
}

// leaks has hdb tell the leaks of the program, and prints what that took.
func leaks(hdb, pid string) error {
	cmd := exec.Command(hdb, "-nx", "-batch", "-p", pid, "-ex", "leaks")
	from := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	s := cmd.ProcessState
	fmt.Printf("leaks_s %.3f\nleaks_cpu_s %.3f\n", time.Since(from).Seconds(), (s.UserTime() + s.SystemTime()).Seconds())
	fmt.Printf("leaks_kb %d\n%s", s.SysUsage().(*syscall.Rusage).Maxrss, out)
	return nil
}

func run(pid, table, root string, workers int, retained bool) error {
	blocks, err := readTable(table)
	if err != nil {
		return err
	}
	at, err := strconv.ParseUint(strings.TrimPrefix(root, "0x"), 16, 64)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	memory := process(number)
	ctx := context.Background()
	from, used := time.Now(), cpu()
	g, err := graph.Build(ctx, memory, graph.BlocksOf(blocks), graph.Roots{Ranges: []graph.Root{{Start: at, End: at + 8}}}, graph.Options{Workers: workers})
	if err != nil {
		return err
	}
	fmt.Printf("build_s %.3f\nbuild_cpu_s %.3f\n", time.Since(from).Seconds(), cpu()-used)
	sums := g.Sums()
	fmt.Printf("more_kb %s\n", peak())
	for r, s := range sums {
		fmt.Printf("%s: %d\n", graph.Reach(r), s.Blocks)
	}
	fmt.Printf("%+v\n", g.Stats())
	from = time.Now()
	for range g.To(len(blocks) / 2) {
	}
	fmt.Printf("reverse_s %.3f\n", time.Since(from).Seconds())
	from = time.Now()
	n := len(g.Path(len(blocks)/2, nil))
	fmt.Printf("path_s %.3f\n(%d edges)\n", time.Since(from).Seconds(), n)
	if retained {
		from = time.Now()
		if _, err := g.RetainedAll(ctx); err != nil {
			return err
		}
		fmt.Printf("retained_s %.3f\nretained_kb %s\n", time.Since(from).Seconds(), peak())
	}
	return nil
}

// process is the memory of one, read as hdb does.
type process int

func (p process) ReadAt(b []byte, off int64) (int, error) {
	local := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	n, err := unix.ProcessVMReadv(int(p), []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(off), Len: len(b)}}, 0)
	if err == nil && n < len(b) {
		err = io.ErrUnexpectedEOF
	}
	return max(n, 0), err
}

// readTable reads the blocks, ascending.
func readTable(file string) ([]graph.Block, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	blocks := make([]graph.Block, info.Size()/int64(unsafe.Sizeof(graph.Block{})))
	in := bufio.NewReaderSize(f, 1<<20)
	var entry [16]byte
	for i := range blocks {
		if _, err := io.ReadFull(in, entry[:]); err != nil {
			return nil, err
		}
		blocks[i] = graph.Block{Addr: binary.NativeEndian.Uint64(entry[:]), Size: binary.NativeEndian.Uint64(entry[8:])}
	}
	slices.SortFunc(blocks, func(a, b graph.Block) int {
		if a.Addr < b.Addr {
			return -1
		}
		return 1
	})
	return blocks, nil
}

// cpu is the user and system time of this process, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peak is the most memory that was resident, in KiB.
func peak() string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "0"
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	return strings.Fields(rest)[0]
}
