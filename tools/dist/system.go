package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// system is the package of a format, deb or rpm. hdb is static and depends on nothing; docs are its documents.
func (r *release) system(format string, docs []file) ([]byte, error) {
	dir, err := os.MkdirTemp("", "hdb-dist")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "hdb", Arch: "amd64", Platform: "linux", Version: r.version, Release: "1", Section: "devel", Priority: "optional",
		Maintainer: "the authors of hdb <hdb@localhost>", Description: summary + "\n" + description, License: "Apache-2.0", MTime: r.date,
		DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			RPM: nfpm.RPM{Group: "Development/Debuggers", Summary: summary, BuildHost: "localhost"},
		},
	})
	add := func(f file, to string) error {
		from := filepath.Join(dir, strings.ReplaceAll(to, "/", "_"))
		if err := os.WriteFile(from, f.data, 0o600); err != nil {
			return err
		}
		info.Contents = append(info.Contents, &files.Content{Source: from, Destination: to,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.date}})
		return nil
	}
	for _, f := range r.files {
		path := f.path
		if format == "deb" {
			path = strings.Replace(path, "share/zsh/site-functions/", "share/zsh/vendor-completions/", 1)
		}
		if err := add(f, "/usr/"+path); err != nil {
			return nil, err
		}
	}
	for _, f := range docs {
		name := f.path
		if name == "LICENSE" && format == "deb" {
			name = "copyright"
		}
		if err := add(f, "/usr/share/doc/hdb/"+name); err != nil {
			return nil, err
		}
	}
	p, err := nfpm.Get(format)
	if err != nil {
		return nil, err
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = p.Package(info, &b)
	return b.Bytes(), err
}
