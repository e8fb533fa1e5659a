package capture

import "slices"

// Programs returns the main module of each program of a recording, with the event it begins with in From: the kernel maps it first.
// Programs whose file is not known are left out.
func Programs(src Source) (all []Module) {
	begins := append([]uint64{0, 1}, src.Execs()...) // where the events of each program begin
	noted := map[uint64]bool{}
	for _, m := range src.Modules() {
		if m.Path != "" && !noted[max(m.From, 1)] && slices.Contains(begins, m.From) {
			noted[max(m.From, 1)] = true
			all = append(all, m)
		}
	}
	return all
}
