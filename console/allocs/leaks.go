package allocs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/heap"
	"hdb/heap/graph"
	"hdb/internal/cond"
	"hdb/internal/flags"
	"hdb/internal/units"
	"hdb/query"
	"hdb/session"
	"hdb/session/heaps"
	"hdb/session/recordings"
	"hdb/session/stopped"
)

func leaksCommand(c *desk.Desk) *shell.Command {
	return &shell.Command{Name: "leaks", Group: shell.GroupAllocs, While: shell.RunsAlongside, Raw: true, Synopsis: "[N] [since MOMENT] [--strict] [--indirect] [--possible] [--reachable|--all] [--snapshot|--exit] [--exit-code] [--suppressions FILE] [if CONDITION]\n[N] growth [MOMENT ... | over TIME] [--strict] [--reachable|--all] [--snapshot|--exit] [--suppressions FILE]", Short: "show the stacks of lost blocks, or of all live blocks if there is no memory to search", Args: []shell.ArgKind{shell.ArgSince}, Run: c.Does(runLeaks),
		Long: "For a stopped process and for a core file, it searches memory for pointers to the live blocks, as LeakSanitizer and valgrind do. The roots are registers, stacks, global and thread-local variables and the program's own mappings.\n\n" +
			"  definitely lost  nothing points to the block\n  indirectly lost  only lost blocks do; in a circle of lost blocks, the block of the earliest stack is definitely lost, or with if, since or --strict the block at the lowest address\n  possibly lost    only interior pointers lead to it\n  still reachable  pointers to the starts of blocks lead from a root to it\n\n" +
			"The stacks of lost blocks are listed, the worst first, each with the blocks that are indirectly lost through its blocks, and a circle if its blocks are on one. --indirect and --possible add the stacks of indirectly and possibly lost blocks, --reachable lists the still reachable ones instead, --all lists all of them. Two kinds of blocks that have only interior pointers count as reachable: blocks with a header, where nearly all blocks from the same code are pointed to at the same offset, and pools, which are pointed to at many offsets. A line says how many; --strict counts them as possibly lost, as valgrind does. A leak whose stale pointers all have the same offset is mistaken for such blocks. Blocks that are older than the recording, or not in it, have no stack; they are counted in a separate row. With `if` only blocks that match are counted; for blocks without a stack only size and addr are known.\n\n" +
			"Go blocks have a table of their own, by type, with what holds the largest block of each type. They are live until a collection finds them unreachable: a Go block that nothing holds is garbage for the next collection, not a leak (docs/go.md). --reachable, --all and --strict do not change this table.\n\n" +
			"Where there is no memory to search, in captures and after the program's end, it lists all blocks that are live at this moment, reachable or not; at the program's end these are all the blocks that it did not free. A line says so.\n\n" +
			"After the blocks come the stacks of mappings that the program made and did not unmap; `help live` explains which mappings count.\n\nBlocks that language runtimes keep for themselves are left out, as in assert: stdio buffers, thread storage, locales, memory for exceptions. A line says how much memory they take; --strict lists them, and possibly lost blocks too.\n\n" +
			"--suppressions leaves out the blocks that match a file, and counts them by suppression. The file is LeakSanitizer's, with lines leak:PATTERN, or valgrind's, with { entries } for Memcheck:Leak. Where hdb cannot tell lost from reachable blocks, an entry applies whatever kinds it names. Blocks without a stack are never suppressed.\n\n" +
			"--snapshot stops a running program only for as long as the kernel takes to copy its page tables (some 100 ms for 4 GiB), and searches the copy while the program runs on. The kernel copies each page that the program writes to during the search. Threads that reach a breakpoint or another stop wait for the answer. --snapshot is refused under seccomp filters and for programs that use userfaultfd.\n\n" +
			"--exit first runs the program until it exits, and starts it if it is not running. The program stops when it calls exit or when main has returned, before destructors and atexit handlers, so that memory the program keeps until the end is not freed yet. Go programs stop where the runtime ends them. If hdb cannot find exit and the like by name, the program stops at the system call, after destructors and atexit handlers have run. If hdb finds them but the program makes the system call itself, the program ends without a stop; a line says so. A signal that ends the program stops it too, and the answer describes that moment; then the program dies of it when it continues. A signal that the program handles or ignores reaches it without a stop, except a signal that `handle` does not pass. In batch mode, and thus in hdb leaks -- PROGRAM, Ctrl-C is such a signal, and signals that ask hdb to end go to a program that it has started; the second one ends hdb. At a prompt Ctrl-C interrupts the program. After SIGKILL there is no memory to search.\n\nWith --exit-code the command fails if blocks are definitely lost, with --strict also if any are possibly lost, and a batch then exits with 3, or with 6 if blocks are live and there is no memory to search: `hdb leaks --exit-code -- ./tests` in CI.\n\n" +
			"With `since` it shows all live blocks that were allocated after the moment, lost or reachable, with their rate per second. A moment has any form that goto takes; N may follow it. `diff MOMENT per stack` also counts blocks that were allocated before.\n\n" + growthHelp +
			"Examples:\n  leaks 5\n  leaks since warm\n  leaks growth warm\n  leaks 10 growth over 60s --all\n  leaks --all\n  leaks --suppressions ci/memcheck.supp\n  leaks --snapshot\n  leaks --exit\n  leaks 3 if size >= 1k"}
}

// leaksAsked is what leaks is asked for.
type leaksAsked struct {
	heaps.LeakQuestion
	reachable, all bool
	possible       bool   // rows of possibly lost blocks, too
	indirect       bool   // likewise of indirectly lost ones
	exit           bool   // when the program exits
	exitCode       bool   // the command fails if there are leaks
	file           string // of suppressions, "" none

	growth  bool           // growth is asked for
	moments []query.Moment // of it, empty if none is given
	over    time.Duration  // of it, 0 if it is not told
}

// leaksOf reads the line of leaks.
func leaksOf(c *desk.Desk, in shell.Input) (leaksAsked, shell.Input, error) {
	q := leaksAsked{}
	text, condition, asked := leakCondition(in.Raw)
	words, err := flags.All(strings.Fields(text), q.flag)
	if err != nil {
		return q, in, fmt.Errorf("leaks: %w", err)
	}
	if q.file != "" {
		if q.Suppressions, err = readSuppressions(line.ExpandHome(q.file)); err != nil {
			return q, in, fmt.Errorf("leaks: suppressions: %w", err)
		}
	}
	if in.Raw, q.moments, q.over, q.growth, err = growthOf(strings.Join(words, " ")); err != nil {
		return q, in, err
	}
	in, from, err := since(c, in)
	if err != nil {
		return q, in, err
	}
	q.Since = from
	in.Args = strings.Fields(in.Raw)
	if q.Limit, err = rowCount(in, 5); err != nil {
		return q, in, err
	}
	if q.growth && q.exitCode {
		return q, in, errors.New("leaks: growth takes no --exit-code")
	}
	if q.growth && (asked || !from.IsPresent()) {
		return q, in, errors.New("leaks: growth takes no `since` and no condition")
	}
	if asked {
		if strings.TrimSpace(condition) == "" {
			return q, in, errors.New("leaks: the condition is missing")
		}
		if q.Cond, err = cond.Parse(condition); err != nil {
			return q, in, fmt.Errorf("condition: %w", err)
		}
	}
	q.Kinds = [4]bool{graph.Definite: !q.reachable, graph.Indirect: q.indirect, graph.Possible: q.possible || q.Strict && !q.reachable, graph.Reachable: q.reachable}
	if q.all || !from.IsPresent() && !q.reachable {
		q.Kinds = [4]bool{true, true, true, true}
	}
	return q, in, nil
}

func (q *leaksAsked) flag(name string) flags.Flag {
	switch name {
	case "strict":
		return flags.On(&q.Strict)
	case "reachable":
		return flags.On(&q.reachable)
	case "all":
		return flags.On(&q.all)
	case "possible":
		return flags.On(&q.possible)
	case "indirect":
		return flags.On(&q.indirect)
	case "snapshot":
		return flags.On(&q.Snapshot)
	case "exit":
		return flags.On(&q.exit)
	case "exit-code":
		return flags.On(&q.exitCode)
	case "suppressions":
		return flags.NonEmpty(&q.file)
	}
	return flags.Flag{}
}

// leakCondition cuts `if CONDITION` off a line.
func leakCondition(line string) (before, condition string, ok bool) {
	before, condition, ok = strings.Cut(" "+line+" ", " if ")
	return strings.TrimSpace(before), condition, ok
}

// runLeaks is leaks. Where nothing is known of what the program allocates, it is undecided whether it leaks.
func runLeaks(ctx context.Context, c *desk.Desk, in shell.Input) error {
	err := answerLeaks(ctx, c, in)
	if errors.Is(err, recordings.ErrUnfollowed) {
		return desk.Undecided(err)
	}
	return err
}

func answerLeaks(ctx context.Context, c *desk.Desk, in shell.Input) error {
	q, in, err := leaksOf(c, in)
	if err != nil {
		return err
	}
	if q.exit {
		if err := leaksAtExit(c, in); err != nil {
			return err
		}
	}
	if q.growth {
		return runLeaksGrowth(ctx, c, in, q)
	}
	var mapped mappedStacks
	if _, none := c.Session.Recorded.Index(); none == nil && q.Cond == nil && !q.reachable {
		if mapped.rows, mapped.total, mapped.all, err = c.Session.Queries.MappedStacks(q.Since, q.Limit); err != nil {
			return fmt.Errorf("leaks: %w", err)
		}
	}
	a, err := c.Session.Heap.FindLeaks(ctx, q.LeakQuestion)
	switch {
	case err != nil:
		return fmt.Errorf("leaks: %w", err)
	case a.ByReach != nil:
		showLeaks(c, in, q, a.ByReach, mapped)
		lost := lostOf(a.ByReach, q.Strict)
		return q.failed(lost.Blocks > 0, units.Blocks(c.Out.Sizes, lost.Bytes, lost.Blocks)+" lost")
	}
	caveats := c.Session.Recorded.Caveats()
	if a.Live != nil {
		showStackRows(c, in, a.Live.Rows, heap.ByLive, a.Live.Total, leftOut{a.Live.Kept, q.Strict, q.file, a.Why, caveats.Collects}, mapped)
		return q.undecided(a.Live.Total > 0, a.Why)
	}
	showGrowth(c, in, a.Since, q.Since, leftOut{a.Since.Kept, q.Strict, q.file, a.Why, caveats.Collects}, mapped)
	return q.undecided(a.Since.Blocks > 0, a.Why)
}

// lostOf are the blocks that are lost for certain; if strict, possibly lost ones, too.
func lostOf(a *heaps.LeakAnswer, strict bool) graph.Sum {
	sum := graph.Sum{Bytes: a.Sums[graph.Definite].Bytes + a.Sums[graph.Indirect].Bytes, Blocks: a.Sums[graph.Definite].Blocks + a.Sums[graph.Indirect].Blocks}
	if strict {
		sum.Bytes += a.Sums[graph.Possible].Bytes
		sum.Blocks += a.Sums[graph.Possible].Blocks
	}
	return sum
}

// failed is the error of --exit-code if there are such blocks.
func (q *leaksAsked) failed(is bool, what string) error {
	if !q.exitCode || !is {
		return nil
	}
	return fmt.Errorf("leaks: %w: %s", desk.ErrAssertion, what)
}

// undecided is the error of --exit-code if there are live blocks, of which it is not known whether they are lost.
func (q *leaksAsked) undecided(is bool, why error) error {
	if !q.exitCode || !is {
		return nil
	}
	return desk.Undecided(fmt.Errorf("leaks: --exit-code: blocks are live, and whether they are lost is not known: %w", why))
}

// leaksAtExit runs the program until it is about to exit.
func leaksAtExit(c *desk.Desk, in shell.Input) error {
	if c.Session.Heap.Running() {
		return errors.New("leaks: --exit: the program runs already: interrupt stops it")
	}
	r, how, err := toExit(c, in)
	if err != nil {
		return fmt.Errorf("leaks: --exit: %w", err)
	}
	c.Report(in, r)
	switch how {
	case session.LeavingStops:
		return errors.New("leaks: --exit: the program stopped before it exited: use leaks for this moment, or leaks --exit to run on")
	case session.LeavingGone:
		if r.Exit().Signal == 0 {
			c.Say("the program ended without a stop: it made the system call itself instead of calling exit, quick_exit or _exit; `catch syscall exit_group exit` stops there, at tens of microseconds a system call")
		}
	case session.LeavingDies:
		c.Say("the signal ends the program: these are the leaks of this moment")
	}
	return nil
}

// toExit runs the program until it is about to exit, past stops after which it is to continue.
func toExit(c *desk.Desk, in shell.Input) (r *stopped.Report, how session.Leaving, err error) {
	c.Unattended(func() {
		for {
			r, how, err = c.Session.ToExit(!c.Opt.Batch)
			switch {
			case err != nil || how != session.LeavingStops:
				return
			case c.Suspended(r):
			case c.Finishes && stopped.CauseOf[*stopped.WrongCall](r) != nil: // the surroundings are not looked at
				c.Report(in, r)
			default:
				return
			}
		}
	})
	return r, how, err
}

// A reachView is how much is held in each way.
type reachView struct {
	DefiniteBytes   uint64 `json:"definitely_lost_bytes"`
	DefiniteBlocks  int    `json:"definitely_lost_blocks"`
	IndirectBytes   uint64 `json:"indirectly_lost_bytes"`
	IndirectBlocks  int    `json:"indirectly_lost_blocks"`
	PossibleBytes   uint64 `json:"possibly_lost_bytes"`
	PossibleBlocks  int    `json:"possibly_lost_blocks"`
	ReachableBytes  uint64 `json:"still_reachable_bytes"`
	ReachableBlocks int    `json:"still_reachable_blocks"`
}

func viewReach(s *[4]graph.Sum) reachView {
	return reachView{
		s[graph.Definite].Bytes, s[graph.Definite].Blocks, s[graph.Indirect].Bytes, s[graph.Indirect].Blocks,
		s[graph.Possible].Bytes, s[graph.Possible].Blocks, s[graph.Reachable].Bytes, s[graph.Reachable].Blocks,
	}
}

// viewUsable are the blocks whose size is the usable one, nil where sums do not mix these with sizes that were asked for.
func viewUsable(a *heaps.LeakAnswer) *reachView {
	if !a.Mixed() {
		return nil
	}
	v := viewReach(&a.Usable)
	return &v
}

// noteUsable says which sums have sizes of two kinds.
func noteUsable(o *screen.Output, a *heaps.LeakAnswer) {
	var parts []string
	for _, k := range reachKinds {
		if u := a.Usable[k]; u.Blocks > 0 {
			parts = append(parts, fmt.Sprintf("%s in %s %s", o.Sizes.Short(u.Bytes), units.Count(u.Blocks, "block"), k))
		}
	}
	if a.Mixed() {
		o.Line(screen.Guess("by usable size, as they are not recorded: " + strings.Join(parts, ", ")))
	}
}

// A leakRowView is the blocks of a stack that are held in one way.
type leakRowView struct {
	Reach string `json:"reach"`
	stackRowView
	WithBytes  uint64   `json:"indirectly_lost_bytes,omitempty"`
	WithBlocks int      `json:"indirectly_lost_blocks,omitempty"`
	Block      string   `json:"block"` // the largest
	Size       uint64   `json:"block_size"`
	Circle     []string `json:"circle,omitempty"`
	Circles    uint64   `json:"circles,omitempty"`
}

// reachKinds are the kinds, the worst first.
var reachKinds = [...]graph.Reach{graph.Definite, graph.Indirect, graph.Possible, graph.Reachable}

func showLeaks(c *desk.Desk, in shell.Input, q leaksAsked, a *heaps.LeakAnswer, mapped mappedStacks) {
	views := make([]leakRowView, 0, len(a.Rows))
	for _, r := range a.Rows {
		row := r.StackRow
		row.LiveBytes, row.LiveBlocks = r.Bytes, r.Blocks
		views = append(views, leakRowView{r.Reach.String(), viewStackRow(row), r.With.Bytes, r.With.Blocks, fmt.Sprintf("%#x", r.Block.Addr), r.Block.Size, r.Members, r.Circles.Times})
	}
	var since string
	if !q.Since.IsPresent() {
		since = q.Since.String()
	}
	gaps := c.Session.Recorded.Gaps()
	if a.Doubts.Walked > 0 || since != "" {
		gaps = c.Session.Recorded.GapsOfMemory()
	}
	c.AnswerOfHeap(in, &a.Doubts, gaps, struct {
		Since   string `json:"since,omitempty"`
		Elapsed int64  `json:"elapsed_ns,omitempty"`
		reachView
		Usable *reachView `json:"usable,omitempty"`
		behindView
		goView
		GoRows []goRowView `json:"collected_rows,omitempty"`
		Total  int         `json:"total"`
		query.Kept
		Rows     []leakRowView                       `json:"rows"`
		Mappings *desk.MappingsView[mappedStackView] `json:"mapped,omitempty"`
		Copy     *heaps.Copy                         `json:"copy,omitempty"`
	}{since, int64(a.Elapsed), viewReach(&a.Sums), viewUsable(a), viewBehind(a), viewGo(a), viewGoRows(a), a.Total, a.Kept, views, mapped.view(), a.Copy}, func(o *screen.Output) {
		all := graph.Sum{}
		for _, s := range a.Sums {
			all.Blocks += s.Blocks
			all.Bytes += s.Bytes
		}
		live := goSum(a)
		live.Blocks += all.Blocks
		live.Bytes += all.Bytes
		if live.Blocks == 0 {
			none := "no block is live"
			if since != "" {
				none = "no recorded block is live that was allocated since " + since
			}
			if q.Cond != nil {
				none += " and matches"
			}
			o.Printf("%s\n", orWaiting(c.Session, none))
		} else if since != "" {
			o.Printf("since %s: %s live%s\n", since, units.Blocks(o.Sizes, live.Bytes, live.Blocks), inTime(o, int64(live.Bytes), int64(live.Blocks), a.Elapsed))
		}
		for i := range a.Rows {
			printLeakRow(c, o, a, &a.Rows[i])
		}
		if len(a.Rows) < a.Total {
			o.Printf("%d of %s; `%s` shows all\n", len(a.Rows), units.Count(a.Total, "row"), q.command(a.Total))
		}
		if all.Blocks > 0 {
			printReach(o, q, a)
			noteUsable(o, a)
			noteBehind(o, a)
		}
		noteGo(c, o, &q, a)
		noteKept(o, a.Kept)
		noteCopy(o, a.Copy)
		if a.Usable == [4]graph.Sum{} { // else they are in the sums
			noteUnrecorded(c.Session, o, true)
		}
		mapped.print(c, o, q.command)
	})
}

// command is the command with another number of rows.
func (q *leaksAsked) command(n int) string {
	words := []string{"leaks", strconv.Itoa(n)}
	if q.growth {
		words = append(words, q.growthAgain())
	}
	if !q.Since.IsPresent() {
		words = append(words, "since "+q.Since.String())
	}
	for _, f := range []struct {
		on   bool
		flag string
	}{{q.Strict, "--strict"}, {q.possible, "--possible"}, {q.indirect, "--indirect"}, {q.reachable, "--reachable"}, {q.all, "--all"}, {q.Snapshot, "--snapshot"}} {
		if f.on {
			words = append(words, f.flag)
		}
	}
	if q.file != "" {
		words = append(words, "--suppressions "+q.file)
	}
	if q.Cond != nil {
		words = append(words, "if "+strings.TrimSpace(q.Cond.Source()))
	}
	return strings.Join(words, " ")
}

// printLeakRow prints the blocks of a stack that are held in one way.
func printLeakRow(c *desk.Desk, o *screen.Output, a *heaps.LeakAnswer, r *heaps.LeakRow) {
	with := ""
	if r.With.Blocks > 0 {
		with = fmt.Sprintf(", and %s with them", units.Blocks(o.Sizes, r.With.Bytes, r.With.Blocks))
	}
	head := fmt.Sprintf("%s: %s%s", r.Reach, units.Blocks(o.Sizes, r.Bytes, r.Blocks), with)
	rate := ""
	if a.Elapsed > 0 {
		rate = inTime(o, int64(r.Bytes), int64(r.Blocks), a.Elapsed)
	}
	if r.LeakRow.Stack == 0 || len(r.StackRow.Stack.Frames) == 0 {
		why := "nothing was recorded"
		if a.Recorded {
			why = "not in the recording"
		}
		o.Printf("%s\n", head)
		o.Line(screen.Guess(fmt.Sprintf("(no stack: %s; the largest has %s at %#x)", why, o.Sizes.Long(r.Block.Size), r.Block.Addr)))
		return
	}
	o.Printf("%s, of %s allocated%s\n", head, units.Grouped(r.Count), rate)
	printUserFrames(c, o, r.StackRow.Stack, "")
	if len(r.Members) > 0 {
		others := ""
		if n := r.Circles.Others; n > 0 {
			others = fmt.Sprintf(", and %s of other blocks", units.Count(n, "circle"))
		}
		o.Printf("circle of %s, %s: %s%s\n", units.Count(len(r.Circles.Blocks), "block"), units.Count(r.Circles.Times, "time"), inCircle(o, r.Members, len(r.Circles.Blocks)), others)
	}
	if n := r.Circles.Cut; n > 0 {
		o.Line(screen.Guess(fmt.Sprintf("(%s may be on circles, too: too many blocks were in the way to tell)", units.Count(n, "block"))))
	}
}

// shownMembers is how many blocks of a circle are named.
const shownMembers = 6

// inCircle names the blocks of a circle of n, each of which points to the next; members are its first.
func inCircle(o *screen.Output, members []string, n int) string {
	if n == 1 {
		return o.Names.Short(members[0]) + " holds itself"
	}
	if len(members) == n && slices.Equal(members[1:], members[:n-1]) {
		return "all " + o.Names.Short(members[0])
	}
	shown := members[:min(len(members), shownMembers)]
	var names []string
	for _, name := range shown {
		names = append(names, o.Names.Short(name))
	}
	if left := n - len(shown); left > 0 {
		names = append(names, fmt.Sprintf("(%d more)", left))
	}
	return strings.Join(append(names, o.Names.Short(members[0])), " -> ")
}

// printReach prints how much is held in each way.
func printReach(o *screen.Output, q leaksAsked, a *heaps.LeakAnswer) {
	var table [][]screen.Span
	for _, k := range reachKinds {
		if a.Sums[k].Blocks == 0 && k != graph.Definite {
			continue
		}
		row := []screen.Span{screen.Plain(o.Sizes.Short(a.Sums[k].Bytes)), screen.Plain(units.Grouped(a.Sums[k].Blocks)), screen.Plain(k.String()), {}}
		switch {
		case q.Kinds[k]:
		case k == graph.Reachable:
			row[3] = screen.Guess("(leaks --reachable)")
		case k == graph.Indirect:
			row[3] = screen.Guess("(leaks --indirect)")
		case k == graph.Possible:
			row[3] = screen.Guess("(leaks --possible)")
		}
		table = append(table, row)
	}
	o.Table([]screen.Column{{Head: "bytes", Right: true}, {Head: "blocks", Right: true}, {}, {}}, table)
}

// noteCopy tells what a copy of the memory cost the program.
func noteCopy(o *screen.Output, c *heaps.Copy) {
	if c == nil {
		return
	}
	o.Printf("from a copy of the memory, for which the program was stopped for %s\n", units.Time(c.Stopped))
	if c.Written >= 1<<20 {
		o.Printf("the program has written to %s of it since, which then took memory twice\n", o.Sizes.Long(c.Written))
	}
}
