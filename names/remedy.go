package names

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hdb/internal/lazyregexp"
	"hdb/internal/regular"
	"hdb/symbols"
)

// A Remedy is something that would bring names to a module.
type Remedy struct {
	Kind    RemedyKind
	What    string // the file, command, package or server that it is about
	BuildID string // of that file
	Archive string // the line of sources.list with the package, "" if it is there by default
}

// RemedyKind says what to do.
type RemedyKind uint8

// The kinds.
const (
	FindBuild          RemedyKind = iota // get the file of the build that ran: the capture kept its names
	FindFile                             // get the file with BuildID
	MakeReadable                         // the file exists
	KeepDwo                              // keep the .dwo files, What is the first that is missing
	RestoreDwz                           // put the dwz file What with BuildID back
	Install                              // run the command What, with packages of Archive
	InstallSymbols                       // install the debug symbols of the package What
	NameServer                           // set the debuginfod server What and ask it
	AskServer                            // ask the debuginfod server What, which is set
	SetDebugDirs                         // name the directory of the debug file
	CompileWithDebug                     // with -g
	CompileUnstripped                    // with -g, and do not strip
	BuildGoWithDebug                     // not with -ldflags=-s or -w
	BuildRustWithDebug                   // with debug = true
	LinkBuildID                          // with a build ID, so that debug files are found
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
		if found := procRoot().FindString(d.Path); found != "" {
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
var procRoot = lazyregexp.New(`^/proc/[0-9]+/root`)

// osRelease is what os-release(5) says of a distribution.
type osRelease struct {
	id, idLike, codename, server string
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
				r.idLike = value
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

// is reports whether the distribution is one of those, or made from one.
func (r osRelease) is(ids ...string) bool {
	for _, id := range append([]string{r.id}, strings.Fields(r.idLike)...) {
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
	add := func(m Remedy) { d.Remedies = append(d.Remedies, m) }
	switch {
	case d.Err != nil && d.Kept:
		add(Remedy{Kind: FindBuild})
		return
	case d.Err != nil && d.BuildID != "":
		add(Remedy{Kind: FindFile, BuildID: d.BuildID})
	case d.Err != nil:
		add(Remedy{Kind: MakeReadable})
		return
	case d.MissingDwo > 0:
		add(Remedy{Kind: KeepDwo, What: d.FirstDwo})
		return
	case d.MissingAlt != "":
		add(Remedy{Kind: RestoreDwz, What: d.MissingAlt, BuildID: d.AltID})
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
		add(Remedy{Kind: BuildGoWithDebug})
	case d.obj != nil && isRust(d.obj):
		add(Remedy{Kind: BuildRustWithDebug})
	case d.Debug == symbols.DebugSymtab:
		add(Remedy{Kind: CompileWithDebug})
	default:
		add(Remedy{Kind: CompileUnstripped})
	}
	switch {
	case d.BuildID == "":
		add(Remedy{Kind: LinkBuildID})
	case d.Debug < symbols.DebugSymtab:
		add(Remedy{Kind: SetDebugDirs})
		r.fetched(d, add)
	}
}

// packaged is the advice for a file of the distribution.
func (r *remedies) packaged(d *Diagnosis, owner string, add func(Remedy)) {
	switch {
	case r.os.is("debian", "ubuntu"):
		add(r.debian(owner))
	case r.os.is("suse", "opensuse"):
		add(Remedy{Kind: Install, What: "zypper install " + owner + "-debuginfo"})
	case r.os.is("fedora", "rhel", "centos"):
		add(Remedy{Kind: Install, What: "dnf debuginfo-install " + owner})
	case r.os.is("alpine"):
		add(Remedy{Kind: Install, What: "apk add " + owner + "-dbg"})
	default:
		add(Remedy{Kind: InstallSymbols, What: owner})
	}
	if d.BuildID != "" && r.server == "" {
		add(Remedy{Kind: NameServer, What: r.os.debuginfod()})
	}
	r.fetched(d, add)
}

// fetched is the advice to ask the server there is.
func (r *remedies) fetched(d *Diagnosis, add func(Remedy)) {
	if d.BuildID != "" && !r.asked && r.server != "" {
		add(Remedy{Kind: AskServer, What: r.server})
	}
}

// debian names the package with the debug files. Those of most packages are in an
// archive of their own.
func (r *remedies) debian(owner string) Remedy {
	if owner == "libc6" || owner == "libc-bin" {
		return Remedy{Kind: Install, What: "apt-get install libc6-dbg"}
	}
	codename := cmp.Or(r.os.codename, "CODENAME")
	archive := "deb http://deb.debian.org/debian-debug " + codename + "-debug main"
	if r.os.is("ubuntu") {
		archive = "deb http://ddebs.ubuntu.com " + codename + " main"
	}
	return Remedy{Kind: Install, What: "apt-get install " + owner + "-dbgsym", Archive: archive}
}

// isRust tells programs of the Rust compiler that were not stripped.
func isRust(obj *symbols.Object) bool {
	_, ok := obj.Symtab.Symbol("rust_eh_personality")
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
