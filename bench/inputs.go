package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"hdb/testprogs"
)

// inputs makes what the programs work on, the same on every machine, once.
// Change the version with any of it.
const inputsVersion = "2"

func inputs(cache, sources string) (string, error) {
	dir := filepath.Join(cache, "inputs-"+inputsVersion)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, testprogs.Place(dir, func(dir string) error {
		for name, write := range map[string]func(path string) error{
			"work.sql":    textFile(sqlWork),
			"work.py":     textFile(pythonWork),
			"jsonwork.py": textFile(jsonWork),
			"work.xml":    xmlFile,
			"work.ii":     func(path string) error { return preprocess(filepath.Join(sources, "templates.cc"), path) },
			"git":         repository,
		} {
			if err := write(filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("input %s: %w", name, err)
			}
		}
		return nil
	})
}

func textFile(text string) func(path string) error {
	return func(path string) error { return os.WriteFile(path, []byte(text), 0o644) }
}

// sqlWork makes, joins, groups, changes and thins out tables in memory.
const sqlWork = `
CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT, price REAL, body BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
INSERT INTO items SELECT i, printf('item-%06d', i * 7919 % 100000), i * 1.5, zeroblob(i % 300) FROM n;
CREATE INDEX by_name ON items(name);
CREATE TABLE tags(item INTEGER, tag TEXT);
INSERT INTO tags SELECT id, 'tag' || (id % 97) FROM items;
SELECT tag, count(*), sum(price) FROM items JOIN tags ON item = id GROUP BY tag ORDER BY 3 DESC LIMIT 5;
SELECT count(DISTINCT substr(name, 1, 8)), sum(length(hex(body))) FROM items;
SELECT json_array_length(json_group_array(json_object('id', id, 'name', name))) FROM items;
SELECT count(*) FROM items a JOIN items b ON b.name = printf('item-%06d', a.id - 1);
UPDATE items SET name = upper(name) WHERE id % 3 = 0;
DELETE FROM items WHERE id % 5 = 0;
SELECT count(*), sum(length(name)) FROM items;
`

// pythonWork builds and drops objects, dicts, lists and JSON.
const pythonWork = `
import json


class Record:
    def __init__(self, n):
        self.n = n
        self.name = "record-%06d" % n
        self.tags = [n % 3, n % 5, n % 7]


def build(n):
    return [Record(i) for i in range(n)]


def index(records):
    table = {}
    for r in records:
        table[r.name] = r
        table.setdefault(r.tags[0], []).append(r)
    return table


total = 0
for turn in range(12):
    records = build(9000)
    table = index(records)
    text = json.dumps([{"n": r.n, "name": r.name, "tags": r.tags} for r in records])
    back = json.loads(text)
    words = " ".join(str(b["n"]) for b in back).split()
    squares = {w: [int(w), int(w) ** 2] for w in words}
    total += len(table) + len(text) + len(squares)
print(total)
`

// xmlFile is a list of items, some 20 MB.
func xmlFile(path string) error {
	const items = 120_000
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\"?>\n<list>\n")
	for i := range items {
		fmt.Fprintf(&b, "<item n=\"%d\" kind=\"k%d\"><name>item number %d</name><note lang=\"en\">%s</note><price unit=\"EUR\">%d.%02d</price></item>\n",
			i*7919%items, i%31, i, strings.Repeat("text ", i%23), i*3%1000, i%100)
	}
	b.WriteString("</list>\n")
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// preprocess leaves nothing but the compiling to cc1plus.
func preprocess(source, path string) error {
	out, err := exec.Command("g++", "-std=c++17", "-DSTORES=4", "-E", source, "-o", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// repository is one of 900 commits, each changing a dozen lines in some of 40
// files of 300 lines.
func repository(path string) error {
	git := func(args ...string) *exec.Cmd {
		cmd := exec.Command("git", args...)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + filepath.Dir(path), "GIT_CONFIG_NOSYSTEM=1"}
		cmd.Stderr = os.Stderr
		return cmd
	}
	if err := git("init", "-q", "-b", "main", path).Run(); err != nil {
		return err
	}
	load := git("-C", path, "fast-import", "--quiet")
	in, err := load.StdinPipe()
	if err != nil {
		return err
	}
	if err := load.Start(); err != nil {
		return err
	}
	w := bufio.NewWriter(in)
	history(w, 900)
	if err := w.Flush(); err != nil {
		return err
	}
	if err := in.Close(); err != nil {
		return err
	}
	return load.Wait()
}

// history writes the commits as git fast-import reads them. A failed write
// stays in w.
func history(w *bufio.Writer, commits int) {
	const files, lines = 40, 300
	var text [files][lines]string
	for i := range text {
		for j := range text[i] {
			text[i][j] = fmt.Sprintf("line %d of file %d: %s%d", j, i, strings.Repeat("word ", j*7%11), i*j)
		}
	}
	data := func(s string) { fmt.Fprintf(w, "data %d\n%s\n", len(s), s) }
	file := func(i int) {
		fmt.Fprintf(w, "M 100644 inline dir%d/file%d.txt\n", i%5, i)
		data(strings.Join(text[i][:], "\n") + "\n")
	}
	seed := uint32(1)
	random := func(n uint32) int {
		seed = seed*1103515245 + 12345
		return int((seed >> 8) % n)
	}
	for c := range commits {
		fmt.Fprintf(w, "commit refs/heads/main\ncommitter A <a@example.org> %d +0000\n", 1700000000+c*60)
		data(fmt.Sprintf("Change %d\n\nBecause of %d.\n", c, c))
		if c == 0 {
			for i := range files {
				file(i)
			}
			continue
		}
		for range 5 {
			i := random(files)
			for e := range 12 {
				text[i][random(lines)] = fmt.Sprintf("changed in %d by %d: %s", c, e, strings.Repeat("other ", random(8)))
			}
			file(i)
		}
	}
}
