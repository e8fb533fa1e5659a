package real

// sqliteWork makes tables and an index in memory, joins, sorts and groups
// them, and handles values of some MiB.
const sqliteWork = `
PRAGMA page_size = 16384;
CREATE TABLE items(id INTEGER PRIMARY KEY, name TEXT, price REAL, body BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
INSERT INTO items SELECT i, printf('item-%05d', i * 7919 % 400), i * 1.5, zeroblob(i % 3000) FROM n;
CREATE INDEX by_name ON items(name);
CREATE TABLE tags(item INTEGER, tag TEXT);
INSERT INTO tags SELECT id, 'tag' || (id % 17) FROM items;
SELECT tag, count(*), sum(price) FROM items JOIN tags ON item = id GROUP BY tag ORDER BY 3 DESC LIMIT 3;
SELECT length(group_concat(hex(body), '-')) FROM items;
CREATE TABLE blobs(data BLOB);
INSERT INTO blobs VALUES(zeroblob(1500000)), (zeroblob(3000000)), (zeroblob(4194304));
SELECT sum(length(data)), length(hex(max(data))) FROM blobs;
SELECT count(*) FROM (SELECT a.name FROM items a, items b WHERE a.id < 12 AND b.id < 12 ORDER BY b.body, a.name);
SELECT json_array_length(json_group_array(json_object('id', id, 'name', name))) FROM items;
UPDATE items SET body = zeroblob(5000) WHERE id % 10 = 0;
DELETE FROM items WHERE id % 3 = 0;
VACUUM;
SELECT count(*), sum(length(body)) FROM items;
`

// pythonWork makes lists, dicts, strings and JSON, and sorts; its large
// values come from bytearray, from list growth and from a dict's table.
const pythonWork = `
import json
import re

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

def grow():
    out = []
    for i in range(200000):
        out.append(i)
    return out

records = build(3000)
table = index(records)
text = json.dumps([{"n": r.n, "name": r.name, "tags": r.tags} for r in records])
back = json.loads(text)
words = re.findall(r"record-\d+", text)
buffers = [bytearray(1 << 20) for _ in range(3)]
joined = b"".join(bytes(b[:700000]) for b in buffers)
pieces = ["%d," % i * 3000 for i in range(300)]
long = "".join(pieces)
numbers = sorted(grow(), key=lambda x: -x)
wide = {i: str(i) for i in range(60000)}
print(len(table), len(text), len(back), len(words), len(joined), len(long), numbers[0], len(wide))
`

// perlWork builds strings, hashes and arrays, sorts and matches.
const perlWork = `
use strict;
use warnings;

my %seen;
my @rows;
for my $i (1 .. 1500) {
    my $name = sprintf("row-%05d", $i * 7919 % 1500);
    $seen{$name}{$i % 10} = $i;
    push @rows, { name => $name, text => "x" x ($i % 5000) };
}
my $long = "";
$long .= "line $_ of the text\n" for 1 .. 20000;
my $count = () = $long =~ /line \d*7 /g;
my @sorted = sort { $a->{name} cmp $b->{name} } @rows;
my @big = map { chr(65 + $_) x (1 << 20) } 0 .. 3;
my $joined = join "-", @big;
my @parts = split /-/, $joined;
my @pages = map { "p" x (4096 + $_) } 1 .. 300;
print scalar(keys %seen), " $count ", scalar(@sorted), " ", length($joined), " ", scalar(@parts), " ", scalar(@pages), "\n";
`
