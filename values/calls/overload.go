package calls

import (
	"fmt"
	"slices"
	"strings"
)

// A Rank tells how well an argument fits a parameter, as C++ ranks conversions
// ([over.ics.rank]). A smaller one fits better.
type Rank uint8

// The ranks of conversions.
const (
	Exact Rank = iota
	Qualified
	Promoted
	ToBase // of a class, or a pointer to one
	Converted
	ToVoid     // a pointer
	ToBool     // of a pointer
	LastResort // an address typed as a number; to a parameter that is ...
	Impossible = Rank(255)
)

// A Candidate is one of several functions that a call may mean.
type Candidate struct {
	Name string // with its parameters, for errors
	// Ranks are those of the object and of each argument. Nil: the function cannot be
	// called with them.
	Ranks []Rank
}

// Choose is the number of the candidate that fits the arguments best. name is the function
// and arguments are the types of the arguments, for errors.
func Choose(name string, arguments []string, list []Candidate) (int, error) {
	var fit []int
	for i, c := range list {
		if c.Ranks != nil {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		taken := strings.Join(arguments, ", ")
		if len(arguments) == 0 {
			taken = "no arguments"
		}
		return 0, fmt.Errorf("no %s takes %s: there are %s", name, taken, candidateNames(list, nil))
	}
	for _, i := range fit {
		if !slices.ContainsFunc(fit, func(j int) bool { return i != j && !better(list[i].Ranks, list[j].Ranks) }) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s(%s) is ambiguous: cast the arguments to choose among %s", name, strings.Join(arguments, ", "), candidateNames(list, fit))
}

// maxNames bounds the functions that an error names.
const maxNames = 8

// candidateNames are the candidates in words, those with the numbers in only, or all if it
// is nil.
func candidateNames(list []Candidate, only []int) string {
	var names []string
	for i, c := range list {
		if only == nil || slices.Contains(only, i) {
			names = append(names, c.Name)
		}
	}
	if more := len(names) - maxNames; more > 0 {
		names = append(names[:maxNames], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// better reports whether no argument fits worse, and one fits better.
func better(a, b []Rank) bool {
	some := false
	for i := range a {
		if a[i] > b[i] {
			return false
		}
		some = some || a[i] < b[i]
	}
	return some
}
