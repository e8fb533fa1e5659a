package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"hdb/testprogs"
)

// TestComplete asks what could be at the end of command lines, or at | in them.
func TestComplete(t *testing.T) {
	demo := testprogs.Build(t, "demo")
	saved := filepath.Join(t.TempDir(), "run.hdb")
	writeCapture(t, saved, 100)
	for _, tc := range []struct{ line, want string }{
		{"hdb rec", "files: record"},
		{"hdb record --py", "words: --python-allocators"},
		{"hdb record --dur", "words: --duration"},
		{"hdb record -o ", "files: "},
		{"hdb record --filter si", "words: size"},
		{"hdb export ndj", "words: ndjson"},
		{"hdb export pprof --measure te", "words: temporary"},
		{"hdb capture me", "words: merge"},
		{"hdb completion f", "words: fish"},
		{"hdb help reco", "words: record"},
		{"hdb top " + saved + " by", "files: by bytes"},
		{"hdb -ba", "words: -batch"},
		{"hdb -cd /tmp rec", "files: record"},
		{"hdb -ex 'break alloc' -x f.cmd -ba", "words: -batch"},
		{"hdb -ex 'break alloc' -ex 'break Server::answ|' " + demo, "words: break Server::answered"},
		{"hdb record -- ./prog --f", "files: "},
		{"hdb --args ./a --ba", "files: "},
		{"hdb -ex 'break Server::answ|' " + demo, "words: break Server::answered"},
		{"hdb -ex \"break Server::answ|\" " + demo, "words: break Server::answered"},
		{"hdb -ex break\\ Server::answ| " + demo, "words: break Server::answered"},
		{"hdb " + demo + " -ex ", "files: "},
		{"hdb -ex 'goto pea|' open " + saved, "words: goto peak"},
		{"hdb -ex 'break x|' /none", "words: "},
		{"hdb nothing at all ", "files: "},
		{"hd", "files: "},
		{"", "files: "},
	} {
		line, tail, _ := strings.Cut(tc.line, "|")
		var out, errw bytes.Buffer
		code := run([]string{"--complete", line + tail, strconv.Itoa(len(line))}, os.Stdin, &out, &errw)
		kind, words, _ := strings.Cut(out.String(), "\n")
		got := kind + ": " + strings.TrimSuffix(strings.ReplaceAll(words, "\n", " "), " ")
		if tc.line == "" || tc.line == "hd" { // the name of hdb itself is the shell's affair
			got, _, _ = strings.Cut(got, ": ")
			got += ": "
		}
		if code != 0 || got != tc.want || errw.Len() > 0 {
			t.Errorf("%s: exit code %d, %q, want %q\n%s", tc.line, code, got, tc.want, &errw)
		}
	}
	for _, words := range [][]string{{}, {"hdb"}, {"hdb", "x"}, {"hdb", "-1"}, {"hdb", "4"}} {
		if code := run(append([]string{"--complete"}, words...), os.Stdin, io.Discard, io.Discard); code != exitUsage {
			t.Errorf("%q: exit code %d", words, code)
		}
	}
}

// TestCompletionOfBash presses Tab in bash: words with colons and blanks, in quotes and without.
func TestCompletionOfBash(t *testing.T) {
	demo := testprogs.Build(t, "demo")
	dir := t.TempDir()
	if err := os.Symlink(testprogs.HDB(t), filepath.Join(dir, "hdb")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(demo, filepath.Join(dir, "demo")); err != nil {
		t.Fatal(err)
	}
	if code := run([]string{"record", "-q", "-o", filepath.Join(dir, "run.hdb"), demo}, os.Stdin, io.Discard, io.Discard); code != 0 {
		t.Fatalf("record: exit code %d", code)
	}
	cmd := exec.Command("bash", "--norc", "--noprofile")
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(os.Environ()), "PATH="+dir+":"+os.Getenv("PATH"), "TERM=dumb", "PS1=$ ", "INPUTRC=/dev/null")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer f.Close()
	defer time.AfterFunc(time.Until(testprogs.Deadline(t)), func() { cmd.Process.Kill() }).Stop() // which ends the read
	var screen bytes.Buffer
	waitFor := func(text string) {
		buf := make([]byte, 4096)
		for !strings.Contains(screen.String(), text) {
			n, err := f.Read(buf)
			screen.Write(buf[:n])
			if err != nil {
				t.Fatalf("waiting for %q: %v\n%s", text, err, &screen)
			}
		}
		screen.Reset()
	}
	waitFor("$ ")
	io.WriteString(f, "source <(hdb completion bash); echo rea''dy\n")
	waitFor("ready")
	for _, tc := range []struct{ typed, want string }{
		{"hdb rec", "hdb record "},
		{"hdb ./de", "hdb ./demo "},
		{"hdb run.hdb -ex 'break Server::rend", "hdb run.hdb -ex 'break Server::render' "},
		{"hdb run.hdb -ex \"break Server::rend", "hdb run.hdb -ex \"break Server::render\" "},
		{"hdb run.hdb -ex break\\ Server::rend", "hdb run.hdb -ex break\\ Server::render "},
	} {
		io.WriteString(f, tc.typed+"\t")
		waitFor(tc.want)
		io.WriteString(f, "\x15") // Ctrl-U
	}
	io.WriteString(f, "exit\n")
}
