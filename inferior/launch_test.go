package inferior

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/inferior/cmdline"
	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

func addrRun(a uint64) addr.Run { return addr.Run(a) }

func TestRedirections(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(dir+"/in", []byte("hello\n"), 0o600), os.WriteFile(dir+"/out", []byte("before\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	args, r, err := cmdline.Parse("files <in >>out 2>err")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Launch(Config{Path: build(t, "faults"), Args: args, Redirections: r, Dir: dir, Env: []string{"FAULTS=42"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	wantExit(t, p, 7)
	if got := read(t, dir+"/out"); got != "before\nout hello\n" {
		t.Errorf("output %q", got)
	}
	if got := read(t, dir+"/err"); got != "err 42" {
		t.Errorf("errors %q", got)
	}
}

func TestLaunchErrors(t *testing.T) {
	dir := t.TempDir()
	good := read(t, build(t, "loop"))
	foreign := []byte(good)
	foreign[18] = 183 // EM_AARCH64
	for name, file := range map[string]struct {
		content string
		mode    os.FileMode
	}{
		"plain":     {good, 0o644},
		"text":      {"hello", 0o755},
		"empty":     {"", 0o755},
		"script":    {"#!/no/such/interpreter -x\n", 0o755},
		"foreign":   {string(foreign), 0o755},
		"noninterp": {strings.Replace(good, "/lib64/ld-linux-x86-64.so.2", "/lib64/ld-nolin-x86-64.so.2", 1), 0o755},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(file.content), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"missing": "no such file", "plain": "not executable (chmod +x", "text": "not an ELF program", "empty": "empty file",
		"script": `interpreter "/no/such/interpreter -x" does not exist`, "foreign": "built for AARCH64, this machine is x86-64",
		"noninterp": "its ELF interpreter does not exist (install /lib64/ld-nolin-x86-64.so.2)", "": "is a directory",
	} {
		p, err := Launch(Config{Path: dir + "/" + name})
		if err == nil {
			t.Errorf("%s was launched", name)
			_ = p.Close()
			continue
		}
		var le *LaunchError
		if !errors.As(err, &le) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if _, err := Launch(Config{Path: "no-such-program-anywhere"}); err == nil || !strings.Contains(err.Error(), "PATH") {
		t.Errorf("%v", err)
	}
	if _, err := Launch(Config{Path: "true", Dir: "/no/such"}); err == nil || !strings.Contains(err.Error(), "working directory /no/such") {
		t.Errorf("%v", err)
	}
}

// TestASLR: off the program lies where gdb would have it, on elsewhere.
func TestASLR(t *testing.T) {
	path := build(t, "loop")
	bias := map[addr.Bias]int{}
	for i := range 6 {
		p, err := Launch(Config{Path: path, Args: []string{"1"}, KeepASLR: i >= 3})
		if err != nil {
			t.Fatal(err)
		}
		bias[p.modules.Modules()[0].Bias]++
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if bias[0x555555554000] != 3 || len(bias) < 3 {
		t.Errorf("biases %v", bias)
	}
}

func TestStatic(t *testing.T) {
	for _, flags := range [][]string{{"-static"}, {"-static-pie"}, {"-no-pie"}} {
		p, _ := launch(t, build(t, "threads", flags...), "4", "3", "10")
		n := 0
		plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { n++; return Resume })
		if vdso := p.modules.Modules()[len(p.modules.Modules())-1]; len(p.modules.Modules()) < 2 || !slices.ContainsFunc(p.modules.Modules(), func(m Module) bool { return m.VDSO }) {
			t.Errorf("%v: modules %v", flags, vdso)
		}
		wantExit(t, p, 7)
		if n != 120 {
			t.Errorf("%v: %d hits", flags, n)
		}
	}
}

func TestLibraryEvents(t *testing.T) {
	p, _ := launch(t, build(t, "loads"), "3")
	var events []string
	note := func(verb string, mods []Module) {
		for _, m := range mods {
			if strings.HasPrefix(filepath.Base(m.Name), "libm") || strings.HasPrefix(filepath.Base(m.Name), "libc.") {
				events = append(events, verb+filepath.Base(m.Name))
			}
		}
	}
	p.SetHooks(Hooks{Modules: func(_ *Thread, added, removed []Module) Action {
		note("-", removed)
		note("+", added)
		if len(events) == 2 {
			return StopHere
		}
		return Resume
	}})
	if s := resume(t, p); s.Reason != Loaded {
		t.Fatalf("%v", s.Reason)
	}
	wantExit(t, p, 7)
	want := "+libc.so.6 +libm.so.6 -libm.so.6 +libm.so.6 -libm.so.6 +libm.so.6 -libm.so.6"
	if got := strings.Join(events, " "); got != want {
		t.Errorf("events %s, want %s", got, want)
	}
}

// TestModuleBias compares with what the dynamic linker prints itself.
func TestModuleBias(t *testing.T) {
	path := build(t, "loop")
	p, _ := launch(t, path, "1")
	plant(t, p, symbol(t, p, "main"), func(*Thread) Action { return StopHere })
	resume(t, p)
	for _, m := range p.modules.Modules() {
		if m.VDSO {
			continue
		}
		out, err := exec.Command("readelf", "-lW", m.Path).Output()
		if err != nil {
			t.Fatalf("%v (the tests need the package binutils)", err)
		}
		if !bytes.Contains(out, []byte("LOAD           0x000000 0x0000000000000000")) || uint64(m.Bias) != uint64(m.Low) {
			t.Errorf("%s: bias %#x, low %v", m.Name, m.Bias, m.Low)
		}
	}
}

// What a program maps of its own file elsewhere does not make its module reach there.
func TestModuleMappedAgain(t *testing.T) {
	p, _ := launch(t, build(t, "remap"))
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	resume(t, p)
	before := p.modules.Modules()[0]
	p.modules.forget() // as at an attach
	p.modules.rescan()
	maps, err := p.target.Maps()
	if err != nil {
		t.Fatal(err)
	}
	far := slices.IndexFunc(maps, func(m Mapping) bool { return m.Path == before.Name && m.Low > before.High })
	if far < 0 {
		t.Fatalf("%s is not mapped again", before.Name)
	}
	if now := p.modules.Modules()[0]; now != before {
		t.Errorf("%+v, was %+v before", now, before)
	}
}

func TestRemoteSyscall(t *testing.T) {
	p, _ := launch(t, build(t, "threads"), "4", "10", "10")
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	for range 5 {
		resume(t, p)
		for _, th := range p.target.Threads() {
			before, err := th.Regs()
			if err != nil {
				t.Fatal(err)
			}
			if pid, err := th.Syscall(unix.SYS_GETPID); err != nil || int(pid) != p.target.PID() {
				t.Errorf("getpid: %d, %v", pid, err)
			}
			if tid, err := th.Syscall(unix.SYS_GETTID); err != nil || int(tid) != th.TID {
				t.Errorf("gettid: %d, %v", tid, err)
			}
			if _, err := th.Syscall(unix.SYS_CLOSE, 12345); !errors.Is(err, unix.EBADF) {
				t.Errorf("close: %v", err)
			}
			if after, err := th.Regs(); err != nil || after != before {
				t.Errorf("registers %+v, before %+v, %v", after, before, err)
			}
		}
	}
	for s := resume(t, p); s.Reason == Trapped; s = resume(t, p) {
	}
	if st, _ := p.target.Exited(); st.Code != 7 {
		t.Errorf("%v", st)
	}
}

// TestSetRegs: what the kernel does not take is an error at once, and the
// program goes on with the registers it had.
func TestSetRegs(t *testing.T) {
	p, _ := launch(t, build(t, "threads"), "2", "1", "3")
	th := p.target.Threads()[0]
	before, err := th.Regs()
	if err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func(*Registers){
		func(r *Registers) { r.Cs, r.Rip = 0, 1 },
		func(r *Registers) { r.FsBase, r.Rip = 1<<63, 1 },
	} {
		bad := before
		spoil(&bad)
		if err := th.SetRegs(bad); !errors.Is(err, unix.EIO) {
			t.Errorf("%v, want %v", err, unix.EIO)
		}
		if r, err := th.Regs(); err != nil || r != before {
			t.Errorf("registers %+v, before %+v, %v", r, before, err)
		}
	}
	wantExit(t, p, 7)
}

func TestMemory(t *testing.T) {
	p, _ := launch(t, build(t, "loop"), "1")
	a := symbol(t, p, "hit")
	plain := make([]byte, 64)
	if _, err := p.memory.ReadAt(plain, int64(a)); err != nil {
		t.Fatal(err)
	}
	tr := plant(t, p, a+4, func(*Thread) Action { return Resume })
	got := make([]byte, 64)
	if _, err := p.memory.ReadAt(got, int64(a)); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("with a trap %x, without %x, %v", got, plain, err)
	}
	if b, err := p.memory.peek(a + 4); err != nil || b != int3 {
		t.Errorf("no int3: %x %v", b, err)
	}
	if _, err := p.traps.WriteAt([]byte{1, 2, 3, 4, 5, 6}, int64(a)); err != nil {
		t.Fatal(err)
	}
	if b, err := p.memory.peek(a + 4); err != nil || b != int3 {
		t.Errorf("a write took the int3: %x %v", b, err)
	}
	if err := tr.Remove(); err != nil {
		t.Fatal(err)
	}
	if b, err := p.memory.peek(a + 4); err != nil || b != 5 {
		t.Errorf("after removal %x %v, want 5", b, err)
	}
	m := p.modules.Modules()[0]
	maps, err := p.target.Maps()
	if err != nil {
		t.Fatal(err)
	}
	var end addr.Run
	for _, mp := range maps {
		if mp.Path == m.Name {
			end = mp.High
		}
	}
	if n, err := p.memory.ReadAt(make([]byte, 100), int64(end)-60); n != 60 || !errors.Is(err, unix.EIO) {
		t.Errorf("read across the end: %d %v", n, err)
	}
	if _, err := p.traps.Plant(0x10, func(*Thread) Action { return Resume }); err == nil || !strings.Contains(err.Error(), "not mapped") {
		t.Errorf("trap at 0x10: %v", err)
	}
}

// TestBorrow has a thread open and close a descriptor among other calls.
func TestBorrow(t *testing.T) {
	p, _ := launch(t, build(t, "threads"), "4", "10", "10")
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	resume(t, p)
	for _, th := range p.target.Threads() {
		before, err := th.Regs()
		if err != nil {
			t.Fatal(err)
		}
		b, err := th.Borrow()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Open(unix.SYS_MEMFD_CREATE, 0, 0, 0, 0, 0); err == nil {
			t.Error("more arguments than the stub has room for")
		}
		fd, err := b.Open(unix.SYS_EPOLL_CREATE1, unix.EPOLL_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		link := fmt.Sprintf("/proc/%d/fd/%d", p.target.PID(), fd)
		if tid, err := b.Syscall(unix.SYS_GETTID); err != nil || int(tid) != th.TID {
			t.Errorf("gettid: %d, %v", tid, err)
		}
		if to, err := os.Readlink(link); err != nil || !strings.Contains(to, "eventpoll") {
			t.Errorf("descriptor %d is %q, %v", fd, to, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if to, err := os.Readlink(link); err == nil {
			t.Errorf("descriptor %d is %q, not closed", fd, to)
		}
		if _, err := b.Syscall(unix.SYS_CLOSE, fd); !errors.Is(err, unix.EBADF) {
			t.Errorf("close: %v", err)
		}
		if err := b.Return(); err != nil {
			t.Error(err)
		}
		if after, err := th.Regs(); err != nil || after != before {
			t.Errorf("registers %+v, before %+v, %v", after, before, err)
		}
	}
	for s := resume(t, p); s.Reason == Trapped; s = resume(t, p) {
	}
	if st, _ := p.target.Exited(); st.Code != 7 {
		t.Errorf("%v", st)
	}
}

// TestStubInModule: where the vDSO has no room a thread makes its calls behind the
// code of a module.
func TestStubInModule(t *testing.T) {
	p, _ := launch(t, build(t, "threads"), "1", "10", "10")
	plant(t, p, symbol(t, p, "hit"), func(*Thread) Action { return StopHere })
	resume(t, p)
	maps, err := p.target.Maps()
	if err != nil {
		t.Fatal(err)
	}
	full := false
	for _, m := range maps {
		if m.Path == "[vdso]" {
			if _, err := p.traps.WriteAt([]byte{1}, int64(m.High-1)); err != nil {
				t.Fatal(err)
			}
			full = true
		}
	}
	if !full {
		t.Error("no vDSO")
	}
	th := p.target.Threads()[0]
	b, err := th.Borrow()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(maps, func(m Mapping) bool {
		return m.Low <= b.at && b.at < m.High && m.Perm == "r-xp" && strings.HasPrefix(m.Path, "/")
	}) {
		t.Errorf("the stub is at %v", b.at)
	}
	if tid, err := b.Syscall(unix.SYS_GETTID); err != nil || int(tid) != th.TID {
		t.Errorf("gettid: %d, %v", tid, err)
	}
	if err := b.Return(); err != nil {
		t.Error(err)
	}
	left := make([]byte, stubSize)
	if _, err := p.memory.ReadAt(left, int64(b.at)); err != nil || len(bytes.Trim(left, "\x00")) != 0 {
		t.Errorf("% x is left, %v", left, err)
	}
}

// TestStubInUse: while a thread is in the stub that a killed hdb has left it in, another one
// stands before that.
func TestStubInUse(t *testing.T) {
	p, _ := launch(t, build(t, "threads"), "1", "10", "10")
	th := p.target.Threads()[0]
	first, err := p.modules.stubPlace()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.memory.writeAt(stubMark[:], int64(first)); err != nil {
		t.Fatal(err)
	}
	if err := th.load(); err != nil {
		t.Fatal(err)
	}
	rip := th.regs.Rip
	th.regs.Rip = uint64(first + stubCall)
	second, err := p.modules.stubPlace()
	th.regs.Rip = rip
	if err != nil || second != first-stubSize {
		t.Errorf("with a thread in the stub at %v the next one is at %v, %v", first, second, err)
	}
	if again, err := p.modules.stubPlace(); err != nil || again != second {
		t.Errorf("then it is at %v, %v", again, err)
	}
}
