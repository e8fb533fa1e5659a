package values_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hdb/testprogs"
)

// An oracleCase is a program, where it stops, and what gdb and hdb are asked there.
type oracleCase struct {
	name    string
	source  string
	build   []string // compiler and flags
	stop    string   // "" is the line marked stop
	moves   []string // commands before the questions
	ask     []string
	differs map[string]string // why a line, by the variable or the command, is another
}

// constReason is that of variables which are constants.
const constReason = "gdb lists no local that is a constant of the debug information"

// intoMiddle is where gdb does not look for the way from a virtual base up to a class
// that is a base itself, and takes the address as it is: t is 1, l is 2.
var intoMiddle = map[string]string{"p *(Left*)top": "gdb shows the bytes of the Top as a Left",
	"p *dynamic_cast<C*>(pb)": "gdb 13 gives an address in the virtual table; the members tell who is right"}

// mainsVariable is intoMiddle, and what gdb does not find: a variable of main, which is on the stack and not static.
var mainsVariable = map[string]string{"p main::d.z": "gdb 13 has no main::d of g++; clang's is 30, as hdb says", "p *(Left*)top": intoMiddle["p *(Left*)top"],
	"p *dynamic_cast<C*>(pb)": intoMiddle["p *dynamic_cast<C*>(pb)"]}

// byMembers is why values of libstdc++ differ.
const byMembers = "gdb's printers of libstdc++ 12 have none for it"

var libraryDiffers = map[string]string{
	"umi": byMembers, "usi": byMembers, "umend": byMembers, "mu": byMembers, "held": byMembers, "rm": byMembers, "sm": byMembers, "nobody": byMembers, "cv": byMembers,
	"f0": byMembers, "f1": byMembers, "f2": byMembers, "f3": byMembers, "ms": byMembers, "sec": byMembers, "hr": byMembers, "dd": byMembers, "odd": byMembers, "tp": byMembers, "stp": byMembers,
	"rw": byMembers, "cx": byMembers, "cf": byMembers,
	"mend": "gdb takes the header of the tree for an element", "lend": "gdb takes the head of the list for an element",
	"e0": "gdb 13 does not find the category's class", "e1": "gdb 13 does not find the category's class", "e2": "gdb 13 does not find the category's class", "c1": "gdb 13 does not find the category's class",
}

// without is a map without a key.
func without(m map[string]string, key string) map[string]string {
	m = maps.Clone(m)
	delete(m, key)
	return m
}

var (
	cQuestions = strings.Split("info args|info locals|print *b|p arr|p/x arr|p/x vla|p *&arr[1]@3|p b->buf|p list1|p *list1.next|p list1.next->name[1]|p gs|p &global|p global*2+1|p sd|p sizeof(struct big)|p (char)65|p work|p &work|p *fp|p fp|p $1|p $|p $$2|p tls|p 1==1|p 5/2|p 5.0/2|p 7%3|p -1|p ~0|p !5|p 1<<4|p c|p RED|p (enum color)1|p/d c|p GREEN+1|p \"abc\"|p 'a'|p ip|p *ip|p ip[1]|p ip+1|p *arr@3|p b->pts[1].y|p &b->pts|p/x b->d|p/t 10|p/o 8|p/c 65|p/z 5|p/d uc|p matrix|p matrix[1]|p matrix[1][2]|p ap|p *ap|ptype b|ptype struct node|whatis b|whatis *b|whatis arr|whatis fp|ptype pt|ptype point_t|whatis point_t|whatis cip|ptype enum color|ptype enum flags|ptype union u|whatis matrix|whatis &matrix|ptype work|whatis 1|whatis 1.0|whatis 'a'|whatis b->a|whatis 1==1|ptype unsigned long|whatis vla|p vla|p sizeof vla|p/c uc|p/f uc|p/d *b|p/u *b|p/x *b|p/c fl|p/a fl|p/a -7|p !i128|p fl*2|p ld|p i128|p cx|p counter|p bad_s|p 1 ? 2 : 3|p 10 > 5 && 3 < 2|p n, d|p -5 / 2|p 5u - 6|p 1.5f|p 0x10|p 017|p 10000000000|p ull|whatis ull|p *b->pts@2|p/x name|p/d name|p/c arr|p/x ld|p/f 3|p {int} ip|p *(struct point *) b->pts|p &((struct big*)0)->buf|p *zeros@10|p *zeros@11|p ld+1|p ld*ld|p -ld|p ld/3|p ld==3.25|whatis ld+1|p ld+fl|p fl-ld|set var ld = 0.1|p ld|p ld*10|p (double)ld|p (long double)fl|p ld/0|p !ld", "|")

	cppQuestions = strings.Split("info args|info locals|p c|p *sp|p dia|p rv|p bi|ptype sp|whatis c|whatis v|whatis m|whatis um|whatis up|whatis s|p v|p vs|p ns::counter|p ns::hidden|p ns::Box<int>::made|p Circle::limit|p c.r|p sp->id|p ns::Kind::B|p ns::P1|p (ns::Kind)4|p kind|p pl|p pb|p v[1]|p true|p 1==1|p &c|p *&c|p dia.v|whatis pm|p dia.V1::a|whatis ns::Box<int>|p sizeof(Circle)|p ns::pi|p ns::yes|p ns::half|p ns::pi * 2", "|")

	methodQuestions = strings.Split("p s.size()|p cs.size()|p ps->size()|p ps->add(2)|p s.add(\"abc\")|p s.add(1.5)|p s.add(1,2)|p s.name()|p s.name().size()|p s.at(p)|p s.amb(1,1L)|p s.count(3)|p Store::count(3)|p shop::Store::count(3)|p s.twice<int>(4)|p s.hook(8)|p ps->hook(8)|p sh->area()|p sh->sides()|p sh->ident()|p nm->label()|p nm->tag|p sq.area()|p deep.sides()|p deep.label()|p vbp->get()|p vb.get()|p vb.both()|p vl->get()|p p.sum()|p p.moved(2)|p p.moved(2).sum()|p p.moved(2).moved(1).x|p p == p|p shop::over(1)|p shop::over(1.5)|p shop::over(\"s\")|p shop::over(p)|p shop::over(1, 2)|p shop::over(str)|p over(1.5f)|p over('a')|p over(buf)|p over(ptr)|p length2(v)|p mixed(m)|p floats(f)|p point(p, 3)|p scaled(v, 2)|p scaled(scaled(v, 2), 3)|p many(1,2,3,4,5,6,7,8,m,1)|p dmany(1,2,3,4,5,6,7,8,9,10)|p wide(1.5, 3)|p vec.capacity()|p str.capacity()|p str.find('s', 0)|whatis s.size()|whatis cs.size()|whatis s.add(1.5)|whatis p.moved(2)|whatis sh->area() + 1|p sizeof(p.moved(1))|p sh->area() > 3 && p.sum() == 7|p static_cast<Deep*>(sh)->sides()|p dynamic_cast<Square*>(nm)|p *dynamic_cast<Square*>(nm)|p dynamic_cast<VRight*>(vbp)|p dynamic_cast<Store*>(sh)|p const_cast<Store*>(&cs)|p reinterpret_cast<long>(sh) == (long)sh|p (short)70000|p sizeof(Store)|p alignof(Vec3)|p *ps@1|p buf[0]@5|p/x (short[2])0x12345678|p (__int128)-1|p $_streq(buf, \"hello\")|p $_streq(ptr, buf)|p $_strlen(ptr)|p $_memeq(buf, \"help\", 3)|p $_memeq(buf, \"help\", 4)|p $_regex(buf, \"^h.*o$\")|p $_regex(ptr, \"orl\")|p $_isvoid($nothing)|p $_isvoid(1)|p $_caller_is(\"main\", 0)|p $_any_caller_is(\"main\", 0)|p $_any_caller_matches(\"ma.*\", 0)|p h->sum()|p h->x|p *h|p !h|p (*h).sum()|p va[1]|p va + vb2|p va + vb2 * 2|p (va + vb2).x|p va < vb2|p -va|whatis va + vb2|ptype/o Store|ptype/o Mixed|ptype/ox Floats|ptype/m Point|info vtbl sh|info vtbl *sh|info vtbl deep|info vtbl nm|info vtbl vb|info vtbl vbp|p -object -- *nm|set print object on|p sh|p *sh|p nm|p *vbp|p -object off -- *sh|p deep|p vb|p p|p ps", "|")

	prettyQuestions = strings.Split("set print pretty on|p vp|p mp|p m|p um|p l|p lp|p up|p op|p pr|p mi|p mpi|p a1|p a3|p p1|p bs|p st|p fl|p vs|p none|p fle|p *up|p ar|p apt|p on|p il|p vb|p v|p -array -- v|p -array -- vp|p -array -- l|p -pretty off -elements 2 -- v|p -pretty off -elements 1 -- l|p -elements 2 -- vb|p -max-depth 1 -- mp|p -max-depth 1 -- vp|p -raw-values -pretty off -- on", "|")

	libraryQuestions = strings.Split("info locals|p v.size()|p v.empty()|p none.empty()|p v.front()|p v.back()|p v.at(1)|p l.size()|p l.front()|p l.back()|p l.empty()|p d.size()|p d.front()|p d.back()|p d[2]|p d.at(2)|p m.size()|p m.empty()|p sc.size()|p um.size()|p us.empty()|p fl.front()|p fle.empty()|p ar.size()|p ar.front()|p ar.back()|p ar.at(1)|p ar[1]|p *up|p up->x|p up.get()|p *up.get()|p *shp|p shp->y|p shp.get()|p vb[1]|p vb.size()|p vp.back().x|p vp.front().y + 1|p &vp.back()|whatis v.front()|p bs", "|")

	baseQuestions = strings.Split("p (C*)pb|p *(C*)pb|p (B*)&c|p *(B*)&c|p *(B*)pa|p (A*)pb|p (D*)p2|p *(D*)p2|p ((D*)p2)->x|p *(P2*)&d|p (D*)none|p (P2*)none|p *(Bottom*)top|p *(Bottom*)left|p *(Right*)&v|p *(Top*)&v|p *(Top*)left|p *(Left*)top|p ((Bottom*)top)->d|p (B&)c|p (Top&)v|p (B)c|p *(Stranger*)&d|set var target = &d|p target|p *target|p ff + 1|p ff * 2|p -ff|p ff + 1.0|p ff + other->s|p ff == 0.1f|whatis ff + 1|p *(int(*)[3])&three|p (int(*)[3])0|whatis (int(*)[3])0|p sizeof(int(*)[3])|p *(long(*)[2][3])&d|p static_cast<int>(2.5)|p *static_cast<D*>(p2)|p *reinterpret_cast<P1*>(p2)|p *dynamic_cast<C*>(pb)|p alignof(int)|p _Alignof(double)|p alignof(C)|p 'bases.cc'::three|p 'bases.cc'::three[1]|p 'bases.cc'::hidden|p use::calls|p que[0]|p que[299]|p ring|p main::d.z|p use::pb->b|p main::nothing", "|")

	untypedQuestions = strings.Split("p raw_ratio|p raw_name|p sizeof(raw_buf)|p raw_ratio + 1|p raw_buf[0]|p !raw_name|p (double)raw_ratio|p *(double*)&raw_ratio|p {char}&raw_buf|p (char*)&raw_buf|p &raw_name|whatis raw_name|ptype raw_name|whatis &raw_name|p said|p said + 1|p &said|whatis said|p banner|whatis banner|p said@1", "|")

	optionQuestions = strings.Split("p o|p -pretty -- o|p -pretty on -array on -- o|p -array -- matrix|p -array -pretty -- o.m.in|p -max-depth 1 -- o|p -max-depth 2 -- o|p -max-depth unlimited -- o|p -union off -- o.m|p -union off -- o.m.in[0].u|p -elements 2 -- o.m.in|p -elements 4 -- matrix|p -elements 12 -- o.zeros|p -elements 1 -pretty -- o.m.in|p -repeats 3 -- o.zeros|p -repeats unlimited -- o.zeros|p -repeats 50 -- o.m.s|p -symbol off -- gp|p -symbol off -- main|p -pretty off -- o.m|p -e 2 -p -- /x o.m.in|p -5|p -elements 3 -- -5|ptype/o struct all|ptype/o struct bits|ptype/o union any|ptype/o struct empty|ptype/o int|ptype/o enum color|ptype/ox struct small", "|")

	vectorQuestions = strings.Split("info args|info locals|p $xmm0|p/x $xmm1|p $ymm0|ptype $xmm0|whatis $xmm0|p $mxcsr|p $xmm0.v4_float[1]|set var $xmm0.v4_float[1] = 9|p $xmm0.v4_float|set var $ymm1.v4_double[3] = 2.5|p $ymm1.v4_double|p $xmm0.v2_double[0] * 2|p $st0", "|")

	rustQuestions = strings.Split("info args|info locals|p e3|p p.x|p *p|p t.0|p sl|whatis e1|whatis s|ptype p|ptype/o pr|ptype/o *p|ptype/o shapes::Mixed|ptype e1|p *b|p n+1|p flag|p n == 7|whatis t|whatis arr|p arr|p/x arr|p sl[0]|p sl[1]|p n as u64|whatis n as u8|p (n as u64 + 1) * 2", "|")

	oracleCases = []oracleCase{
		{name: "gcc -O0", source: "plain.c", build: []string{"gcc", "-g", "-O0"}, ask: cQuestions},
		{name: "gcc -O0 DWARF 4", source: "plain.c", build: []string{"gcc", "-g", "-gdwarf-4", "-O0"}, ask: cQuestions},
		{name: "clang -O0", source: "plain.c", build: []string{"clang", "-g", "-O0"}, ask: cQuestions[:12]},
		{name: "gcc -O2", source: "plain.c", build: []string{"gcc", "-g", "-O2"}, stop: "work", ask: cQuestions[:2], differs: map[string]string{
			"fl": constReason, "i128": constReason,
		}},
		{name: "gcc -O2 inlined", source: "moved.c", build: []string{"gcc", "-g", "-O2"}, stop: "puts", moves: []string{"up"}, ask: cQuestions[:2]},
		{name: "gcc -O2 caller", source: "moved.c", build: []string{"gcc", "-g", "-O2"}, stop: "puts", moves: []string{"up", "up"}, ask: cQuestions[:2]},
		{name: "clang -O2 caller", source: "moved.c", build: []string{"clang", "-g", "-O2"}, stop: "puts", moves: []string{"up", "up"}, ask: cQuestions[:2], differs: map[string]string{
			"p": "its second half is optimized out; gdb 13 calls that a synthetic pointer",
		}},
		{name: "gcc options", source: "options.c", build: []string{"gcc", "-g", "-O0"}, ask: optionQuestions},
		{name: "gcc -O2 at the entry", source: "vectors.c", build: []string{"gcc", "-g", "-O2"}, stop: "work", ask: vectorQuestions},
		{name: "gcc -O2", source: "vectors.c", build: []string{"gcc", "-g", "-O2"}, ask: vectorQuestions},
		{name: "gcc -O2 x87", source: "vectors.c", build: []string{"gcc", "-g", "-O2"}, stop: "wide", ask: vectorQuestions},
		{name: "clang -O2 at the entry", source: "vectors.c", build: []string{"clang", "-g", "-O2"}, stop: "work", ask: vectorQuestions},
		{name: "clang -O2 x87 caller", source: "vectors.c", build: []string{"clang", "-g", "-O2"}, stop: "puts", moves: []string{"up"}, ask: vectorQuestions[:2], differs: map[string]string{
			"y": "gdb takes the called function's st(0), which is another number, for its caller's",
		}},
		{name: "g++ -O0", source: "classes.cc", build: []string{"g++", "-std=c++17", "-g", "-O0"}, ask: cppQuestions, differs: map[string]string{
			"np":       "gdb 13 cannot print nullptr_t",
			"ptype sp": "gdb writes no void in a destructor's list; it leaves virtual out there",
		}},
		{name: "g++ type units", source: "classes.cc", build: []string{"g++", "-std=c++17", "-g", "-O0", "-fdebug-types-section"}, ask: cppQuestions, differs: map[string]string{
			"np":       "gdb 13 cannot print nullptr_t",
			"ptype sp": "gdb writes no void in a destructor's list; it leaves virtual out there",
		}},
		{name: "g++ C++20", source: "library.cc", build: []string{"g++", "-std=c++20", "-g", "-O0", "-pthread"}, ask: libraryQuestions, differs: libraryDiffers},
		{name: "g++ C++20 pretty", source: "library.cc", build: []string{"g++", "-std=c++20", "-g", "-O0", "-pthread"}, ask: prettyQuestions},
		{name: "g++ C++20 DWARF 4", source: "library.cc", build: []string{"g++", "-std=c++20", "-g", "-gdwarf-4", "-O0", "-pthread"}, ask: libraryQuestions[:1], differs: libraryDiffers},
		{name: "clang++ C++20", source: "library.cc", build: []string{"clang++", "-std=c++20", "-g", "-O0", "-pthread"}, ask: libraryQuestions[:1], differs: without(libraryDiffers, "cv")},
		{name: "gcc -O2", source: "untyped.c", build: []string{"gcc", "-g", "-O2"}, ask: untypedQuestions},
		{name: "g++ -O0", source: "bases.cc", build: []string{"g++", "-g", "-O0"}, ask: baseQuestions, differs: mainsVariable},
		{name: "clang++ -O0", source: "bases.cc", build: []string{"clang++", "-g", "-O0"}, ask: baseQuestions, differs: intoMiddle},
		{name: "g++ -O0", source: "methods.cc", build: []string{"g++", "-std=c++17", "-g", "-O0"}, ask: methodQuestions},
		{name: "clang++ -O0", source: "methods.cc", build: []string{"clang++", "-std=c++17", "-g", "-O0"}, ask: methodQuestions, differs: map[string]string{
			"p s.name()": "gdb's printer shows no text", "p *ps@1": "gdb's printer shows no text",
		}},
		{name: "gcc -O2 entry values", source: "entry.c", build: []string{"gcc", "-g", "-O2"}, stop: "report", moves: []string{"up"}, ask: []string{"info args", "p number * 2", "p number@entry", "p single@entry", "p count@entry", "p count @ entry + 1", "p number + number@entry", "whatis count@entry"}},
		{name: "gcc -O2 entry values DWARF 4", source: "entry.c", build: []string{"gcc", "-g", "-gdwarf-4", "-O2"}, stop: "report", moves: []string{"up"}, ask: []string{"info args"}},
		{name: "gcc -O2 kept over calls", source: "kept.c", build: []string{"gcc", "-g", "-O2"}, stop: "leaf", moves: []string{"up", "up"}, ask: []string{"info args", "p a * 2", "p d + f"}},
		{name: "gcc split -O2", source: "moved.c", build: []string{"gcc", "-g", "-gsplit-dwarf", "-O2"}, stop: "puts", moves: []string{"up"}, ask: cQuestions[:2]},
		{name: "gcc split DWARF 4 -O2", source: "vectors.c", build: []string{"gcc", "-g", "-gdwarf-4", "-gsplit-dwarf", "-O2"}, stop: "work", ask: cQuestions[:2]},
		{name: "gcc split type units", source: "plain.c", build: []string{"gcc", "-g", "-gdwarf-4", "-gsplit-dwarf", "-fdebug-types-section"}, ask: cQuestions[:12]},
		{name: "clang split -O2", source: "vectors.c", build: []string{"clang", "-g", "-gsplit-dwarf", "-O2"}, stop: "work", ask: cQuestions[:2], differs: map[string]string{
			"t": "gdb 13 does not find this list of .debug_loclists.dwo; the source tells what is right",
		}},
		{name: "rustc -O0", source: "shapes.rs", build: []string{"rustc", "-g", "-C", "opt-level=0"}, ask: rustQuestions, differs: map[string]string{
			"c":       "gdb in the C locale prints no letters beyond ASCII",
			"hm":      "its hash keys are random",
			"arc":     "without rust-gdb's scripts gdb prints the struct",
			"rc":      "without rust-gdb's scripts gdb prints the struct",
			"r2":      "without rust-gdb's scripts gdb prints the struct of a String",
			"vs":      "without rust-gdb's scripts gdb prints the struct",
			"v":       "without rust-gdb's scripts gdb prints the struct",
			"st":      "without rust-gdb's scripts gdb prints the struct",
			"ptype p": "gdb takes a reference for a pointer",
		}},
	}
)

// TestAgainstGDB asks gdb and the built hdb the same questions at the same place.
func TestAgainstGDB(t *testing.T) {
	dir := t.TempDir()
	for _, c := range oracleCases {
		if testing.Short() && !slices.Contains([]string{"gcc -O2 at the entry", "gcc -O2 inlined", "gcc options", "gcc -O2 entry values", "g++ -O0", "rustc -O0"}, c.name) {
			continue
		}
		t.Run(c.name+" "+c.source, func(t *testing.T) {
			askBoth(t, dir, c)
		})
	}
}

// askBoth builds the program of a case, asks both debuggers, and compares.
func askBoth(t *testing.T, dir string, c oracleCase) {
	t.Helper()
	prog := filepath.Join(dir, strings.NewReplacer(" ", "_", "+", "p").Replace(c.name+c.source))
	source, err := filepath.Abs(filepath.Join("testdata", c.source))
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command(c.build[0], append(c.build[1:], source, "-o", prog)...)
	build.Dir = dir // clang leaves .dwo files where it runs
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	if c.stop == "" {
		c.stop = testprogs.StopLine(t, source)
	}
	want := answers(t, []string{"gdb", "-nx", "-batch", "-iex", "set auto-load safe-path /", "-iex", "set style enabled off"}, prog, c)
	got := answers(t, []string{testprogs.HDB(t), "-nx", "-batch"}, prog, c)
	compare(t, c, want, got)
}

var stackAddress = regexp.MustCompile(`0x7ff[0-9a-f]{9}`)

// echoed is a question as echo takes it.
var echoed = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// answers maps each question to what was printed. Both debuggers stand in processes
// with other environments, so that stacks lie elsewhere.
func answers(t *testing.T, debugger []string, prog string, c oracleCase) map[string]string {
	t.Helper()
	args := append(debugger[1:], "-ex", "break "+c.stop, "-ex", "run")
	for _, m := range c.moves {
		args = append(args, "-ex", m)
	}
	for _, q := range c.ask {
		args = append(args, "-ex", `echo @@`+echoed.Replace(q)+`\n`, "-ex", q)
	}
	cmd := exec.Command(debugger[0], append(args, prog)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TERM=dumb", "LC_ALL=C"}
	var said strings.Builder
	cmd.Stderr = &said
	out, _ := cmd.Output() // the exit code is that of the last question
	answers := map[string]string{}
	for i, part := range strings.Split(stackAddress.ReplaceAllString(string(out), "STACK"), "@@")[1:] {
		_, rest, _ := strings.Cut(part, "\n")
		if i < len(c.ask) {
			answers[c.ask[i]] = strings.TrimRight(rest, "\n")
		}
	}
	if strings.Contains(said.String(), "Couldn't write extended state") {
		withoutState(t, c.ask, answers)
	}
	return answers
}

// notAsked is the answer to a question that gdb cannot be asked here.
const notAsked = "(not asked)"

// withoutState marks what gdb cannot answer where the kernel refuses it to write the extended
// registers, as some versions of both do: calls, what comes after the first because it may
// have changed something, and vectors that were to be changed.
func withoutState(t *testing.T, asked []string, answers map[string]string) {
	t.Helper()
	n, called := 0, false
	for _, q := range asked {
		called = called || answers[q] == ""
		if called || strings.Contains(q, "mm0") || strings.Contains(q, "mm1") {
			answers[q] = notAsked
			n++
		}
	}
	t.Logf("gdb cannot write the extended registers here: %d of its %d answers are not compared", n, len(answers))
}

var historyNumber = regexp.MustCompile(`^\$\d+ = `)

func compare(t *testing.T, c oracleCase, want, got map[string]string) {
	t.Helper()
	if len(want) == 0 {
		t.Fatal("gdb did not answer")
	}
	used := map[string]bool{}
	report := func(what, w, g string) {
		if used[what] = true; c.differs[what] == "" {
			t.Errorf("%s:\ngdb %s\nhdb %s", what, w, g)
		}
	}
	for _, q := range c.ask {
		w, g := historyNumber.ReplaceAllString(want[q], ""), historyNumber.ReplaceAllString(got[q], "")
		if w == notAsked {
			used[q] = true
			continue
		}
		if w == g || strings.HasPrefix(q, "info locals") && w == "No locals." && g == "no locals" {
			continue
		}
		if !strings.HasPrefix(q, "info ") {
			report(q, w, g)
			continue
		}
		wl, gl := variables(w), variables(g)
		for name, v := range wl {
			if gl[name] != v {
				report(name, v, gl[name])
			}
		}
		for name, v := range gl {
			if _, ok := wl[name]; !ok {
				report(name, "(nothing)", v)
			}
		}
	}
	for what := range c.differs {
		if !used[what] {
			t.Errorf("%s does not differ any more", what)
		}
	}
}

// variables splits NAME = VALUE lines. gdb lists a variable of an inlined function again
// when its copy stands in a block that is a copy of none.
func variables(s string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(s) {
		if name, v, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " = "); ok {
			if m[name] != "" && v == "<optimized out>" {
				continue
			}
			for m[name] != "" { // a name of several blocks
				name += "'"
			}
			m[name] = v
		}
	}
	return m
}
