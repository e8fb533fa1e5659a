// Server answers HTTP requests, for which it allocates, and says at /counts what its runtime has
// counted, in front of an allocation of as many bytes as nothing else asks for. It prints its
// address, and ends with its standard input.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync"
	"time"
)

type item struct {
	ID   int
	Name string
	Tags map[string]string
}

var (
	mu     sync.Mutex
	cache  = map[int]*item{}
	report []byte
	marker []byte
	counts = []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/frees:objects"}, {Name: "/gc/heap/tiny/allocs:objects"}}
)

//go:noinline
func lookup(id int) *item {
	mu.Lock()
	defer mu.Unlock()
	it := cache[id]
	if it == nil {
		it = &item{ID: id, Name: fmt.Sprint("item ", id), Tags: map[string]string{"n": strconv.Itoa(id)}}
		cache[id] = it
	}
	return it
}

//go:noinline
func export() []byte { return make([]byte, 3<<20) }

func main() {
	go func() {
		os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	http.HandleFunc("/item", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.Atoi(r.URL.Query().Get("id"))
		json.NewEncoder(w).Encode(lookup(id))
	})
	http.HandleFunc("/export", func(w http.ResponseWriter, r *http.Request) {
		report = export()
	})
	http.HandleFunc("/counts", func(w http.ResponseWriter, r *http.Request) {
		metrics.Read(counts) // the first time it allocates
		for i := 0; i < 4; i++ {
			runtime.GC()
			time.Sleep(50 * time.Millisecond) // connections are closed, and finalizers run
		}
		var stats runtime.MemStats
		for before := uint64(0); before == 0 || stats.Mallocs != before; { // as in the stress program
			runtime.ReadMemStats(&stats)
			before = stats.Mallocs
			metrics.Read(counts)
			runtime.ReadMemStats(&stats)
		}
		marker = make([]byte, 7_777_777)
		fmt.Fprintln(w, counts[0].Value.Uint64(), counts[1].Value.Uint64(), counts[2].Value.Uint64())
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	http.Serve(l, nil)
}
