package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// wheelTag: for any Python 3, and for any Linux on x86-64, whichever its C library, since hdb is static.
const wheelTag = "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64"

// wheel is a package for pip with the executable, which goes to bin, and the module hdb_mark (the specification of binary
// distributions, packaging.python.org).
func (r *release) wheel(executable file, mark []byte) ([]byte, error) {
	info := fmt.Sprintf("hdb-%s.dist-info/", r.version)
	list := []file{
		{fmt.Sprintf("hdb-%s.data/scripts/hdb", r.version), 0o755, executable.data},
		{"hdb_mark.py", 0o644, mark},
		{info + "METADATA", 0o644, fmt.Appendf(nil, "Metadata-Version: 2.1\nName: hdb\nVersion: %s\nSummary: %s\nLicense: Apache-2.0\nRequires-Python: >=3\n\n%s\n",
			r.version, summary, description)},
		{info + "WHEEL", 0o644, []byte("Wheel-Version: 1.0\nGenerator: hdb\nRoot-Is-Purelib: false\n" +
			"Tag: py3-none-manylinux_2_17_x86_64\nTag: py3-none-musllinux_1_1_x86_64\n")},
	}
	var record bytes.Buffer
	for _, f := range list {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.path, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range append(list, file{info + "RECORD", 0o644, record.Bytes()}) {
		h := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: r.date}
		h.SetMode(f.mode)
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
