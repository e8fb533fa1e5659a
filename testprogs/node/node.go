// Package node runs scripts of tests in Node.js, some of which use a browser.
package node

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hdb/testprogs"
)

// packages is where scripts/npm puts packages.
func packages(t *testing.T) string {
	t.Helper()
	cache, err := testprogs.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "npm")
	if _, err := os.Stat(filepath.Join(dir, "installed")); err != nil {
		t.Fatalf("%v: run scripts/need test and scripts/npm", err)
	}
	return dir
}

// Run runs a script of the test's testdata and is what it writes. The script finds
// packages by its first argument.
func Run(t *testing.T, in []byte, script string, args ...string) []byte {
	t.Helper()
	return output(t, in, command(packages(t), filepath.Join("testdata", script), args...))
}

// Browse is Run for a script that uses a browser.
func Browse(t *testing.T, in []byte, script string, args ...string) []byte {
	t.Helper()
	testprogs.SkipUnderRace(t)
	npm := packages(t)
	cmd := command(npm, filepath.Join("testdata", script), args...)
	where, err := browser(npm)
	if err != nil {
		t.Fatalf("chromium: %v (scripts/need test)", err)
	}
	cmd.Env = append(os.Environ(), "HDB_BROWSER="+where)
	return output(t, in, cmd)
}

func command(npm, script string, args ...string) *exec.Cmd {
	return exec.Command("node", append([]string{script, npm}, args...)...)
}

func output(t *testing.T, in []byte, cmd *exec.Cmd) []byte {
	t.Helper()
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, stderr.Bytes())
	}
	return out
}

// oneBrowser is the browser of all tests, started by the first that wants it. It ends
// when its standard input does, with this process.
var oneBrowser struct {
	sync.Once
	input io.Closer
	where string
	err   error
}

// browser is where scripts find the browser.
func browser(npm string) (string, error) {
	b := &oneBrowser
	b.Do(func() {
		root, err := testprogs.Root()
		if b.err = err; err != nil {
			return
		}
		cmd := command(npm, filepath.Join(root, "testprogs", "node", "serve.mjs"))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			b.input, err = cmd.StdinPipe()
		}
		if err == nil {
			err = cmd.Start()
		}
		if b.err = err; err != nil {
			return
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if b.where = strings.TrimSpace(line); err != nil {
			b.err = fmt.Errorf("%w: %s", err, &stderr)
		}
	})
	return b.where, b.err
}
