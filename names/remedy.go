package names

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"hdb/internal/regular"
	"hdb/symbols"
)

// remedies knows what brings names: packages of the distribution, servers, flags of
// the compiler.
type remedies struct {
	os     osRelease
	root   string // of the system that the modules are of, "" is the own one
	asked  bool   // debuginfod is asked already
	server string // the first that debuginfod is set to ask, "" none
	run    func(ctx context.Context, name string, args ...string) ([]byte, error)
}

// newRemedies are those of the system that the modules are of: the sysroot's, a
// container's or the own one.
func newRemedies(r *Resolver, modules []Diagnosis) *remedies {
	root := r.cfg.Settings.Sysroot
	for _, d := range modules {
		if found := procRoot.FindString(d.Path); found != "" {
			root = found
			break
		}
	}
	server := ""
	if all := r.Debuginfod.Servers(); len(all) > 0 {
		server = all[0]
	}
	return &remedies{
		os: readOSRelease(root), root: root, asked: r.Debuginfod.Mode() != DebuginfodOff, server: server,
		run: func(ctx context.Context, name string, args ...string) ([]byte, error) {
			ctx, done := r.reading.Bound(ctx)
			defer done()
			cmd := exec.CommandContext(ctx, name, args...)
			cmd.Env = append(os.Environ(), "LC_ALL=C")
			return cmd.Output() // with what it found when it fails for some
		},
	}
}

// procRoot begins the path of a file in a container.
var procRoot = regexp.MustCompile(`^/proc/[0-9]+/root`)

// osRelease is what os-release(5) says of a distribution.
type osRelease struct {
	id, like, codename, server string
}

// readOSRelease reads the file of a root directory.
func readOSRelease(root string) osRelease {
	var r osRelease
	for _, name := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		f, _, err := regular.Open(filepath.Join(root, name))
		if err != nil {
			continue
		}
		defer f.Close()
		lines := bufio.NewScanner(io.LimitReader(f, 1<<16))
		for lines.Scan() {
			key, value, _ := strings.Cut(lines.Text(), "=")
			value = strings.Trim(strings.TrimSpace(value), `"'`)
			switch key {
			case "ID":
				r.id = value
			case "ID_LIKE":
				r.like = value
			case "VERSION_CODENAME":
				r.codename = value
			case "DEBUGINFOD_URLS":
				r.server = value
			}
		}
		break
	}
	return r
}

// is tells whether the distribution is one of those, or made from one.
func (r osRelease) is(ids ...string) bool {
	for _, id := range append([]string{r.id}, strings.Fields(r.like)...) {
		if slices.Contains(ids, id) {
			return true
		}
	}
	return false
}

// debuginfod is the address of the distribution's server, or of the one that asks all.
func (r osRelease) debuginfod() string {
	if url, _, _ := strings.Cut(r.server, " "); strings.HasPrefix(url, "http") {
		return url
	}
	for _, s := range []struct{ id, url string }{
		{"ubuntu", "https://debuginfod.ubuntu.com"},
		{"debian", "https://debuginfod.debian.net"},
		{"fedora", "https://debuginfod.fedoraproject.org/"},
		{"centos", "https://debuginfod.centos.org/"},
		{"arch", "https://debuginfod.archlinux.org"},
		{"opensuse", "https://debuginfod.opensuse.org/"},
		{"void", "https://debuginfod.s.voidlinux.org/"},
	} {
		if r.is(s.id) {
			return s.url
		}
	}
	return "https://debuginfod.elfutils.org/"
}

// packageTimeout bounds the wait for the package manager.
const packageTimeout = 5 * time.Second

// find fills in the remedies of modules that lack something.
func (r *remedies) find(bad []*Diagnosis) {
	if len(bad) == 0 {
		return
	}
	owners := r.owners(bad)
	for _, d := range bad {
		r.one(d, owners[d.Name])
	}
}

func (r *remedies) one(d *Diagnosis, owner string) {
	add := func(format string, args ...any) { d.Remedies = append(d.Remedies, fmt.Sprintf(format, args...)) }
	switch {
	case d.Err != nil && d.Kept:
		add("get the file of that build, then symbols refresh")
		return
	case d.Err != nil && d.BuildID != "":
		add("get the file with build ID %s: put it beside the capture, or set sysroot", d.BuildID)
	case d.Err != nil:
		add("make the file readable, be root, or set sysroot")
		return
	case d.MissingDwo > 0:
		add("keep the .dwo files where the compiler wrote them (%s), or put them together: dwp -e %s -o %s.dwp", d.FirstDwo, d.Path, d.Path)
		return
	case d.MissingAlt != "":
		add("put %s back (build ID %s): dwz -m moved there what several files share", d.MissingAlt, d.AltID)
		if owner != "" {
			r.packaged(d, owner, add)
		} else {
			r.fetched(d, add)
		}
		return
	}
	if owner != "" {
		r.packaged(d, owner, add)
		return
	}
	switch {
	case d.Go:
		add("build it without -ldflags=-s or -w")
	case d.obj != nil && isRust(d.obj):
		add("build it with debug = true in [profile.release] of Cargo.toml, and strip = false")
	case d.Debug == symbols.DebugSymtab:
		add("compile it with -g")
	default:
		add("compile it with -g, and do not strip it (gcc -s, strip, install -s)")
	}
	switch {
	case d.BuildID == "":
		add("link it with -Wl,--build-id, so that separate debug files can be found")
	case d.Debug < symbols.DebugSymtab:
		add("set debug-file-directory to where its debug file is")
		r.fetched(d, add)
	}
}

// packaged is the advice for a file of the distribution.
func (r *remedies) packaged(d *Diagnosis, owner string, add func(string, ...any)) {
	switch {
	case r.os.is("debian", "ubuntu"):
		add("%s", r.debian(owner))
	case r.os.is("suse", "opensuse"):
		add("zypper install %s-debuginfo", owner)
	case r.os.is("fedora", "rhel", "centos"):
		add("dnf debuginfo-install %s", owner)
	case r.os.is("alpine"):
		add("apk add %s-dbg", owner)
	default:
		add("install the debug symbols of package %s", owner)
	}
	if d.BuildID != "" && r.server == "" {
		add("export DEBUGINFOD_URLS=%s before hdb begins, and set debuginfod on", r.os.debuginfod())
	}
	r.fetched(d, add)
}

// fetched is the advice to ask the server there is.
func (r *remedies) fetched(d *Diagnosis, add func(string, ...any)) {
	if d.BuildID != "" && !r.asked && r.server != "" {
		add("set debuginfod on, or hdb doctor --debuginfod (%s)", r.server)
	}
}

// debian names the package with the debug files. Those of most packages are in an
// archive of their own.
func (r *remedies) debian(owner string) string {
	if owner == "libc6" || owner == "libc-bin" {
		return "apt-get install libc6-dbg"
	}
	codename := cmp.Or(r.os.codename, "CODENAME")
	where := "http://deb.debian.org/debian-debug " + codename + "-debug main"
	if r.os.is("ubuntu") {
		where = "http://ddebs.ubuntu.com " + codename + " main"
	}
	return fmt.Sprintf("apt-get install %s-dbgsym (it is in: deb %s)", owner, where)
}

// isRust tells programs of the Rust compiler that were not stripped.
func isRust(obj *symbols.Object) bool {
	_, ok := obj.Symbol("rust_eh_personality")
	return ok
}

// owners are the packages that files belong to, by the name of the module. The package
// manager is asked once for all.
func (r *remedies) owners(list []*Diagnosis) map[string]string {
	found := map[string]string{}
	paths := map[string]string{} // each path that a package can know the file by: the module
	var ask []string
	for _, d := range list {
		for _, p := range r.packagePaths(d) {
			if paths[p] == "" {
				paths[p] = d.Name
				ask = append(ask, p)
			}
		}
	}
	if len(ask) == 0 {
		return found
	}
	ctx, done := context.WithTimeout(context.Background(), packageTimeout)
	defer done()
	switch {
	case r.os.is("debian", "ubuntu"):
		args := []string{"-S", "--"}
		if r.root != "" {
			args = append([]string{"--admindir=" + filepath.Join(r.root, "var/lib/dpkg")}, args...)
		}
		out, _ := r.run(ctx, "dpkg-query", append(args, ask...)...)
		for line := range strings.Lines(string(out)) {
			owner, path, ok := dpkgOwner(line)
			if name := paths[path]; ok && name != "" && found[name] == "" {
				found[name] = owner
			}
		}
	case r.os.is("fedora", "rhel", "centos", "suse", "opensuse"):
		args := []string{}
		if r.root != "" {
			args = append(args, "--root", r.root)
		}
		for _, p := range ask { // a line for each file, in whatever order, says too little
			out, err := r.run(ctx, "rpm", append(args, "-qf", "--qf", "%{NAME}\n", p)...)
			if name, _, _ := strings.Cut(string(out), "\n"); err == nil && found[paths[p]] == "" {
				found[paths[p]] = name
			}
		}
	case r.os.is("alpine"):
		for _, p := range ask {
			out, err := r.run(ctx, "apk", "info", "-q", "--who-owns", p)
			if err == nil && found[paths[p]] == "" {
				found[paths[p]] = strings.TrimSpace(string(out))
			}
		}
	}
	return found
}

// dpkgOwner reads "libc6:amd64: /usr/lib/x86_64-linux-gnu/libc.so.6".
func dpkgOwner(line string) (owner, path string, ok bool) {
	owner, path, ok = strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
	if !ok || strings.HasPrefix(owner, "diversion by ") {
		return "", "", false
	}
	owner, _, _ = strings.Cut(owner, ",") // one of several
	owner, _, _ = strings.Cut(owner, ":")
	return owner, path, true
}

// packagePaths are the names that a package can know a file by: its own, where links
// lead, and both with and without /usr, since distributions have merged the two.
func (r *remedies) packagePaths(d *Diagnosis) []string {
	if !filepath.IsAbs(d.Name) {
		return nil
	}
	all := []string{}
	add := func(p string) {
		if r.root != "" {
			p = strings.TrimPrefix(p, filepath.Clean(r.root))
		}
		other := "/usr" + p
		if rest, ok := strings.CutPrefix(p, "/usr/"); ok {
			other = "/" + rest
		}
		for _, p := range []string{p, other} {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	add(filepath.Clean(d.Name))
	if real, err := filepath.EvalSymlinks(d.Name); err == nil && !strings.HasPrefix(r.root, "/proc/") {
		add(real)
	}
	return all
}
