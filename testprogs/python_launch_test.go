package testprogs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const launchedApp = `
kept = []


def grow():
    kept.append(bytearray(777_777))


def main():
    grow()


if __name__ == "__main__":
    main()
`

// TestPythonLaunched records a program however it is started: the block that it makes has its
// function, in a capture.
func TestPythonLaunched(t *testing.T) {
	const python = "/usr/bin/python3"
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(python, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	app := write("app.py", launchedApp)
	begins := "import sys\nsys.path.insert(0, " + `"` + dir + `"` + ")\nfrom app import main\nsys.exit(main())\n"
	write("packed/app.py", launchedApp)
	write("packed/__main__.py", "import app\napp.main()\n")
	if !testing.Short() {
		run("-m", "venv", "--without-pip", "--symlinks", filepath.Join(dir, "links"))
		run("-m", "venv", "--without-pip", "--copies", filepath.Join(dir, "copies"))
	}
	run("-m", "zipapp", filepath.Join(dir, "packed"), "-o", filepath.Join(dir, "app.pyz"))
	cases := map[string][]string{
		"wrapper that executes":             {write("execs", "#!/bin/sh\nexec "+dir+"/copies/bin/python3 "+app+"\n")},
		"venv of links":                     {dir + "/links/bin/python3", app},
		"console script":                    {write("script", "#!"+dir+"/links/bin/python3\n"+begins)},
		"zipapp":                            {python, dir + "/app.pyz"},
		"script":                            {python, app},
		"module":                            {python, "-m", "app"},
		"command":                           {python, "-c", begins},
		"venv of copies":                    {dir + "/copies/bin/python3", app},
		"script by env":                     {write("byenv", "#!/usr/bin/env -S "+python+"\n"+begins)},
		"wrapper that waits":                {write("waits", "#!/bin/sh\n"+python+" "+app+"\nexit 0\n")},
		"wrapper of two, the last executes": {write("outer", "#!/bin/sh\nexec "+dir+"/execs\n")},
	}
	short := map[string]bool{"zipapp": true, "wrapper that waits": true}
	for name, args := range cases {
		if testing.Short() && !short[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "run.hdb")
			cmd := exec.Command(HDB(t), append([]string{"record", "-o", file}, args...)...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			listed, err := exec.Command(HDB(t), "-nx", "-batch", "-ex", `allocs all if size > 700000 && func("grow")`, file).CombinedOutput()
			n := bytes.Count(listed, []byte("malloc(759.5 KiB)"))
			if name == "wrapper that waits" {
				if n != 0 || !bytes.Contains(out, []byte("children are not recorded; `hdb record -p PID` records one")) {
					t.Errorf("a child was recorded, or it is not said that none is:\n%s", out)
				}
				return
			}
			if err != nil || n != 1 || !bytes.Contains(listed, []byte("app.py:6")) {
				t.Errorf("%v: %d blocks of grow, want 1\n%s", err, n, listed)
			}
		})
	}
}
