package symbols

import "hdb/internal/addr"

func fileAddr(a uint64) addr.File { return addr.File(a) }
