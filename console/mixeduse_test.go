package console

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"hdb/testprogs"
)

var mixedUse = flag.Duration("use", 0, "how long TestMixedUse goes on; 0: a few hundred lines, with -short a few dozen")

// mixedLines are what somebody may type at any time, right or wrong there. PROG is a
// program with threads that runs for a while.
var mixedLines = strings.Split(`run|run &|start|continue|continue &|next|step|finish|stepi 3|until|interrupt|wait|kill|next-alloc|next-free|next-alloc 5 &
prev-alloc|prev-free|reverse-continue|goto #10|goto peak|goto now|goto 50%
break work|break alloc if size > 100|tbreak malloc|break work if calls == 3|delete|delete 2|disable|enable|ignore 1 3|condition 1 size > 1000|info breakpoints|watch total|catch signal|break at|break nosuch
trace work|dprintf work,"%d calls\n",calls|dprintf alloc if size > 500,"%lu\n",$size
record start|record stop|record pause|record resume|record status|record filter size > 50|record filter|mark|mark here
bt|bt 2|bt full|frame 1|up|down|info locals|info args|info threads|thread 1|thread 2|thread apply all bt 1|info registers rip|x/4i $pc|x/8xb $sp|disassemble
print total|print $rsp|print calls + 1|print nosuch|print $_|ptype int|whatis total|display calls|undisplay|call calls|print (1
top|top 3|live|live 2|leaks|stats|temporary|diff start end|tree|table|timeline|allocs 3|allocs if size == 100|whence 0x1234|summary|history
list|list work|list 99999|search malloc|info line work|info symbol main|info sharedlibrary|info source|info signals SIGINT
help|help break|apropos heap|show width|set width 100|set listsize 5|show nosuch|echo text|complete info s|alias zz = bt|zz|unalias zz|nosuch|bt bt|   |#comment
save FILE|export collapsed -f FILE|export pprof -f FILE|info log 3|info stops|symbols refresh|info proc|info mappings|with width 60 -- bt 1|pipe bt | cat|shell true`, "\n")

// TestMixedUse types lines at random, by a seed that it tells. After each the console must
// answer, and no line may be lost.
func TestMixedUse(t *testing.T) {
	lines := 400
	if testing.Short() {
		lines = 60
	}
	until := time.Now().Add(*mixedUse)
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("HDB_MIXED_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HDB_MIXED_SEED=%d", seed)
	for n := 0; n < lines || time.Now().Before(until); {
		n += mixedSession(t, rand.New(rand.NewPCG(seed, uint64(n))), 60)
	}
}

// mixedSession plays that many lines in a console of its own, and quits.
func mixedSession(t *testing.T, r *rand.Rand, lines int) int {
	var pool []string
	for i, group := range mixedLines {
		if i == 0 { // most else needs a process
			group += strings.Repeat("|start|run|run &|continue", 6)
		}
		pool = append(pool, strings.Split(group, "|")...)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Dir = dir
	k := newKeyboard(t, cmd)
	k.expect("(hdb) ")
	var typed []string
	say := func(line string) {
		typed = append(typed, line)
		defer func() {
			if t.Failed() {
				t.Logf("typed:\n%s", strings.Join(typed, "\n"))
			}
		}()
		k.press(line + keyEnter)
		k.answer(fmt.Sprintf("mark-%d", len(typed)))
	}
	say("file " + testprogs.Build(t, "threads"))
	say("set args 4 2 10")
	say("set confirm off")
	say("break work")
	say("record start")
	say("run")
	for range lines {
		line := strings.ReplaceAll(pool[r.IntN(len(pool))], "FILE", "out")
		switch r.IntN(12) {
		case 0: // thought better of it
			typed = append(typed, line+" ^C")
			k.press(line + keyCtrlC)
			k.expect("(hdb) ")
		case 1: // Ctrl-C while it runs
			typed = append(typed, line+" then ^C")
			k.press(line + keyEnter)
			time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond) // so that the key meets it anywhere
			k.press(keyCtrlC)
			k.answer(fmt.Sprintf("mark-%d", len(typed)))
		case 2: // completed
			typed = append(typed, line+" Tab")
			k.press(line[:r.IntN(len(line)+1)] + keyTab + keyCtrlC)
			k.expect("(hdb) ")
		default:
			say(line)
		}
	}
	say("set confirm off")
	k.press("interrupt" + keyEnter + "wait" + keyEnter)
	k.answer("mark-end")
	k.press("kill" + keyEnter)
	k.answer("mark-dead")
	k.press("quit 0" + keyEnter)
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	go func() { // what is asked at the end
		for range k.printed {
		}
	}()
	select {
	case err := <-done:
		if err != nil && !strings.HasPrefix(err.Error(), "exit status ") {
			t.Errorf("it ended with %v; typed:\n%s", err, strings.Join(typed, "\n"))
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("it does not quit; typed:\n%s", strings.Join(typed, "\n"))
	}
	return lines
}

// answer waits until the console has done all lines typed before, by one that it echoes.
// The program may run for long, and a command may ask for more lines or a key.
func (k *keyboard) answer(mark string) {
	k.t.Helper()
	for range 40 {
		k.press("echo " + mark + keyEnter)
		if k.sees("\n"+mark+"\r\n", 2*time.Second) {
			k.expect("(hdb) ")
			return
		}
		k.press(keyCtrlC) // ends what still goes on
	}
	k.t.Fatalf("no answer to %q; seen %q", mark, k.seen)
}

// sees waits at most so long for a text, and forgets what came before it if it comes.
func (k *keyboard) sees(text string, within time.Duration) bool {
	timeout := time.After(within)
	for !strings.Contains(k.seen, text) {
		select {
		case s, ok := <-k.printed:
			if !ok {
				k.t.Fatalf("the terminal was closed; seen %q", k.seen)
			}
			k.seen += s
		case <-timeout:
			return false
		}
	}
	_, k.seen, _ = strings.Cut(k.seen, text)
	return true
}
