package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// archive is a directory hdb-VERSION with bin and share, to be unpacked anywhere.
func (r *release) archive(extra []file) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range slices.SortedFunc(slices.Values(slices.Concat(r.files, extra)), func(a, b file) int { return strings.Compare(a.path, b.path) }) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("hdb-%s/%s", r.version, f.path), Mode: int64(f.mode),
			Size: int64(len(f.data)), ModTime: r.date, Format: tar.FormatPAX}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return compressed(b.Bytes())
}
