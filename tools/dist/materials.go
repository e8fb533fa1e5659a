package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"time"
)

// A component is one of CycloneDX 1.5.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

// materials is the list of the modules and the toolchain that the executable says it was built from.
func (r *release) materials(executable file) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(executable.data))
	if err != nil {
		return nil, err
	}
	parts := []component{{Type: "library", Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + info.GoVersion}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version})
	}
	return json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{
			"timestamp": r.date.Format(time.RFC3339),
			"component": component{Type: "application", Name: "hdb", Version: r.version,
				Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(executable.data))}}},
		},
		"components": parts,
	}, "", "  ")
}
