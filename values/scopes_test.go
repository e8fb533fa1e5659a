package values_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestScopes asks for names that several units have: the frame's block and unit go first,
// then what is global, and a static of another unit only when it is the only one.
func TestScopes(t *testing.T) {
	ask := [][2]string{ // an expression, a part of the answer
		{"c", "c is unknown here: this is the static one in a.c\n$1 = (struct conf *) 0x"},
		{"twice", "$2 = 2\n"},
		{"helper", "$3 = {int (void)} 0x"},
		{"helper == 'b.c'::helper", "$4 = 1\n"},
		{"shared", "$5 = 7\n"},
		{"(int)level", "$6 = 9\n"},
		{"'a.c'::level", "$7 = 1\n"},
		{"thrice", "thrice is unknown here: this is the static one in d.c\n$8 = 4\n"},
		{"limit", "\n$9 = 100\n"},
		{"BUSY", "\n$10 = BUSY\n"},
		{"work(", "print: "},
		{"$10", "$11 = BUSY\n"},
	}
	caller := [][2]string{{"c->argv", "$12 = 3\n"}}
	outermost := [][2]string{{"twice", "$13 = 1\n"}, {"c", "$14 = (struct conf *) 0x0\n"}}
	start := [][2]string{{"twice", `print: "twice" is unknown here, and static in a.c, b.c, d.c: choose one as in 'a.c'::twice`}, {"only_a", "$1 = 11\n"}, {"'d.c'::twice", "$2 = 3\n"}}
	dir := filepath.Join("testdata", "scopes")
	for _, build := range [][]string{{"gcc", "-g"}, {"clang", "-gdwarf-4"}} {
		prog, bare := filepath.Join(t.TempDir(), "scopes"), filepath.Join(t.TempDir(), "bare.o")
		for _, args := range [][]string{
			{build[0], "-c", filepath.Join(dir, "bare.c"), "-o", bare},
			append(build, filepath.Join(dir, "a.c"), filepath.Join(dir, "b.c"), filepath.Join(dir, "d.c"), bare, "-o", prog),
		} {
			if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
		}
		args := []string{"-nx", "-batch", "-ex", "break work", "-ex", "run"}
		for _, part := range [][][2]string{ask, caller, outermost} {
			for _, q := range part {
				args = append(args, "-ex", `echo \n@@\n`, "-ex", "print "+q[0])
			}
			args = append(args, "-ex", `echo \n@@\n`, "-ex", "up")
		}
		compareAnswers(t, build, args, prog, ask, [][2]string{{"up", "b_main"}}, caller, [][2]string{{"up", "main"}}, outermost)
		args = []string{"-nx", "-batch"}
		for _, q := range start {
			args = append(args, "-ex", `echo \n@@\n`, "-ex", "print "+q[0])
		}
		compareAnswers(t, build, args, prog, start)
	}
}

func compareAnswers(t *testing.T, build, args []string, prog string, asked ...[][2]string) {
	t.Helper()
	out, _ := exec.Command(testprogs.HDB(t), append(args, prog)...).CombinedOutput() // the exit code is that of the last command
	answers := strings.Split(string(out), "\n@@\n")[1:]
	i := 0
	for _, part := range asked {
		for _, q := range part {
			if i >= len(answers) || !strings.Contains("\n"+answers[i]+"\n", q[1]) {
				t.Errorf("%v: %s: want %q in\n%s", build, q[0], q[1], out)
				return
			}
			i++
		}
	}
}
