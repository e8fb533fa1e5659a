package cond

// Domain is asked in terms of Kind: the functions of a domain of CPython's allocators go by the
// names that programs call, PyMem_RawMalloc, PyMem_Malloc, PyObject_Malloc and so on.

// domainKinds are globs of the names of each domain's functions; those of mem are the
// ones that the first matches and raw's does not.
var domainKinds = map[string]string{"raw": "PyMem_Raw*", "mem": "PyMem_*", "obj": "PyObject_*"}

func isDomain(name string) bool { return domainKinds[name] != "" }

// noDomain says that a token is no domain.
func noDomain(t token) string { return "domain is raw, mem or obj, found " + t.describe() }

// functions is what a question about a domain asks of the allocator function.
func (n *Call) functions() Node {
	kind := func(domain string) Node { return &Call{Predicate: Kind, Arg: domainKinds[domain], Col: n.Col} }
	if n.Arg == "mem" {
		return &And{[]Node{kind("mem"), &Not{kind("raw")}}}
	}
	return kind(n.Arg)
}
