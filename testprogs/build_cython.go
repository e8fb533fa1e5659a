package testprogs

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cythonSource is the source of an extension that Cython compiles; false if NAME is none.
func cythonSource(name string) (path string, ok bool) {
	dir, err := Dir()
	if err != nil {
		return "", false
	}
	path = filepath.Join(dir, "python", name+".pyx")
	_, err = os.Stat(path)
	return path, err == nil
}

// buildCython builds testdata/python/NAME.pyx for Debian's python3 into a folder of its own, as
// NAME.so, with the link NAME. Flags that begin with -- are Cython's, the others the
// compiler's; without C the generated C is taken away, STRIP takes the symbols.
func buildCython(name, path string, flags []string) (string, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	version, err := exec.Command("cython3", "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cython3: %w%s", err, remedy("cython3", err, ""))
	}
	compiler, err := compilerVersion("gcc")
	if err != nil {
		return "", err
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "2 %s\n%q\n%s\n%s%s", path, flags, src, version, compiler))
	dir := filepath.Join(cache, "testprogs", fmt.Sprintf("%s-%x", name, key[:8]))
	built := filepath.Join(dir, name)
	if _, err := os.Stat(dir); err != nil {
		if err := Place(dir, func(tmp string) error { return cythonize(name, path, tmp, dir, flags) }); err != nil {
			return "", err
		}
	}
	if st, err := os.Stat(path); err == nil { // a fresh clone has it written anew
		if b, err := os.Stat(built); err == nil && b.ModTime().Before(st.ModTime()) {
			return built, os.Chtimes(built, time.Time{}, time.Now())
		}
	}
	return built, nil
}

// pythonInclude is the folder of the headers of Debian's python3.
func pythonInclude() (string, error) {
	include, err := exec.Command("/usr/bin/python3", "-c", "import sysconfig; print(sysconfig.get_paths()['include'])").Output()
	if err != nil {
		return "", fmt.Errorf("/usr/bin/python3: %w%s", err, remedy("python3", err, ""))
	}
	return strings.TrimSpace(string(include)), nil
}

// cythonize makes the extension in tmp, which becomes dir.
func cythonize(name, path, tmp, dir string, flags []string) error {
	include, err := pythonInclude()
	if err != nil {
		return err
	}
	c := filepath.Join(tmp, name+".c")
	generate := []string{"-3", "-o", c}
	compile := []string{"-g", "-shared", "-fPIC", "-I" + include, "-fdebug-prefix-map=" + tmp + "=" + dir,
		"-o", filepath.Join(tmp, name+".so"), c}
	for _, f := range flags {
		switch {
		case f == "--gdb":
			generate = append(generate, f, "--gdb-outdir", tmp)
		case f == "--linetrace":
			generate = append(generate, "-X", "linetrace=True")
		case strings.HasPrefix(f, "--"):
			generate = append(generate, f)
		case f != "STRIP" && f != "NOC":
			compile = append(compile, f)
		}
	}
	if err := run(filepath.Dir(path), "cython3", append(generate, path)...); err != nil {
		return err
	}
	if err := run(tmp, "gcc", compile...); err != nil {
		return err
	}
	if slices.Contains(flags, "NOC") {
		if err := os.Remove(c); err != nil {
			return err
		}
	}
	if slices.Contains(flags, "STRIP") {
		if err := run("", "strip", "--strip-debug", filepath.Join(tmp, name+".so")); err != nil {
			return err
		}
	}
	return os.Symlink(name+".so", filepath.Join(tmp, name))
}
