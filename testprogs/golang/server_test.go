package golang

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestServer attaches to a stripped web server under load, stops at a large allocation, and
// records: between two moments the events are as many as the runtime counts, live and in the
// capture, and the views that are asked for name what is kept.
func TestServer(t *testing.T) {
	all := toolchains()
	if testing.Short() {
		all = all[:1] // others would compile Go's HTTP anew
	}
	for _, toolchain := range all {
		t.Run(toolchain, func(t *testing.T) { serve(t, build(t, "server", toolchain, "-ldflags=-s -w")) })
	}
}

func serve(t *testing.T, program string) {
	cmd := exec.Command(program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) string {
		t.Helper()
		r, err := http.Get("http://" + strings.TrimSpace(address) + path)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, %v: %s", path, r.Status, err, b)
		}
		return string(b)
	}
	load := func(from, to int) {
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				for i := from + worker; i < to; i += 4 {
					get(fmt.Sprint("/item?id=", i))
				}
			})
		}
		wg.Wait()
	}
	quit, loaded := make(chan int), make(chan int)
	go func() {
		defer close(loaded)
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			default:
				load(0, 100)
			}
		}
	}()
	load(0, 100)

	c := open(t, "-p", fmt.Sprint(cmd.Process.Pid))
	c.ask(`break alloc if size >= 1MiB`)
	asked := make(chan int)
	go func() { get("/export"); close(asked) }()
	c.want("continue", "(3 MiB) = 0x", "[]uint8, goroutine ", "created by net/http.(*Server).Serve", "main.export")
	c.want("bt", "main.export", "net/http.HandlerFunc.ServeHTTP", "net/http.(*conn).serve", "runtime.goexit", "created by net/http.(*Server).Serve")
	c.ask("delete")
	// Every one is seen, whatever words the stacks of the goroutines hold.
	c.want(`break alloc if type("http.Request")`, "breakpoint 2")
	c.want("continue", "http.Request, goroutine ", "created by net/http.(*Server).Serve")
	c.ask("delete")
	c.want(`break alloc if type("main.item")`, "breakpoint 3")
	c.ask("ignore 3 1000000")
	c.ask("continue &")
	<-asked
	load(100, 200)
	c.ask("interrupt")
	c.want("info breakpoints", "hit 100 times")
	c.ask("delete")
	c.ask("record start")
	c.ask("continue &")
	close(quit)
	<-loaded

	var runtime [2]counts
	for i := range runtime {
		var joined uint64
		if _, err := fmt.Sscan(get("/counts"), &runtime[i].allocs, &runtime[i].frees, &joined); err != nil {
			t.Fatal(err)
		}
		runtime[i].allocs += joined
		if i == 0 {
			load(200, 3100)
		}
	}
	path := filepath.Join(t.TempDir(), "capture.hdb")
	c.ask("interrupt")
	c.want("live 1 if type(\"main.item\")", "main.lookup", "of 2,900")
	c.want("leaks 3", "blocks live, which is not yet collected")
	if said := c.want("save "+path, "saved "); strings.Contains(said, "lost") {
		t.Error(said)
	}
	c.ask("detach")
	c.quit()
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	hdb := countsAt(t, program, path)
	if len(hdb) != 2 {
		t.Fatalf("%d markers", len(hdb))
	}
	if got, want := hdb[1].allocs-hdb[0].allocs, runtime[1].allocs-runtime[0].allocs; got != want {
		t.Errorf("%d blocks are recorded as made, the runtime counts %d", got, want)
	}
	if got, want := hdb[1].frees-hdb[0].frees, runtime[1].frees-runtime[0].frees; got != want {
		t.Errorf("%d blocks are recorded as found dead, the runtime counts %d", got, want)
	}
	saved := open(t, path)
	saved.want("top 5 by blocks", "main.lookup")
	saved.want("top 50 per type", "main.item")
	saved.want(`live 1 if type("main.item")`, "main.lookup", "of 2,900")
	saved.quit()
}
