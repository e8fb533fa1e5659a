package elf

import (
	"fmt"
	"os"

	"hdb/internal/diskcache"
	"hdb/internal/regular"
)

// Map maps a regular file of at least least bytes, of whatever format: its contents,
// what tells them from others (diskcache.FileID), and what ends the mapping. Reading
// may fault when the file is cut: see Guard.
func Map(path string, least int64) (data []byte, st os.FileInfo, id string, unmap func() error, err error) {
	f, st, err := regular.Open(path)
	if err != nil {
		return nil, nil, "", nil, err
	}
	defer f.Close()
	if st.Size() < least {
		return nil, nil, "", nil, fmt.Errorf("%s: %d bytes", path, st.Size())
	}
	if data, unmap, err = mapFile(f, st.Size()); err != nil {
		return nil, nil, "", nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, st, diskcache.FileID(st), unmap, nil
}
