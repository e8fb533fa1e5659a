package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"hdb/testprogs"
)

// largeVersion changes with what largeLibrary makes.
const largeVersion = "1"

// largeLibrary is a library of C++ with 500 MB of debug information, which is made
// once, in about a minute: a few units with the debug information of templates,
// compiled once, lie in it many times, under names of their own.
func largeLibrary(cache, sources string) (string, error) {
	dir := filepath.Join(cache, "large-"+largeVersion)
	lib := filepath.Join(dir, "liblarge.so")
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	return lib, testprogs.Place(dir, func(dir string) error {
		const kinds, copies = 6, 64
		objects := make([]string, kinds*copies)
		for i := range objects {
			objects[i] = filepath.Join(dir, fmt.Sprintf("%d.o", i))
		}
		build := func(kind int) error {
			whole := filepath.Join(dir, fmt.Sprintf("kind%d.o", kind))
			if err := command("g++", "-std=c++17", "-g", "-O2", "-fPIC", "-ffile-prefix-map="+sources+"=.", "-DSTORES="+strconv.Itoa(4+kind),
				"-c", filepath.Join(sources, "templates.cc"), "-o", whole); err != nil {
				return err
			}
			for n := range copies {
				// Units come in another order than their kinds.
				i := n*kinds + kind
				if err := command("objcopy", "--prefix-symbols=u"+strconv.Itoa(i)+"_", whole, objects[i]); err != nil {
					return err
				}
			}
			return os.Remove(whole)
		}
		if err := side(kinds, build); err != nil {
			return err
		}
		link := append([]string{"-shared", "-nostdlib", "-Wl,--unresolved-symbols=ignore-all", "-Wl,--build-id", "-o", filepath.Join(dir, "liblarge.so")}, objects...)
		if err := command("g++", link...); err != nil {
			return err
		}
		for _, o := range objects {
			if err := os.Remove(o); err != nil {
				return err
			}
		}
		return nil
	})
}

// side runs fn with each number below n, as many at a time as there are processors.
func side(n int, fn func(int) error) error {
	var wg sync.WaitGroup
	turn := make(chan bool, runtime.NumCPU())
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			turn <- true
			errs[i] = fn(i)
			<-turn
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%.2000s", name, err, out)
	}
	return nil
}
