package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"sync"

	"hdb/capture"
)

// A chunkFile reads chunks of a file. Any number of goroutines may, except that
// only one may scan.
type chunkFile struct {
	r         io.ReaderAt
	size      int64
	unpackers sync.Pool // of *unpacker
	buf       []byte    // of the last payload, while scanning
}

var (
	errHeader   = errors.New("no chunk begins here")
	errCut      = errors.New("the file ends inside the chunk")
	errChecksum = errors.New("wrong checksum")
	errIndex    = errors.New("the chunk is not what the index says")
)

// header reads the header of the chunk at off.
func (f *chunkFile) header(off int64) (h chunkHeader, err error) {
	var b [chunkHeaderSize]byte
	if off > f.size-chunkHeaderSize {
		return h, errCut
	}
	if _, err := readFull(f.r, b[:], off); err != nil {
		return h, err
	}
	h, ok := parseChunkHeader(b[:])
	switch {
	case !ok:
		return h, errHeader
	case int64(h.length) > f.size-off-chunkHeaderSize:
		return h, errCut
	}
	return h, nil
}

// payload reads and checks the payload of the chunk at off, into buf if it is
// large enough.
func (f *chunkFile) payload(h chunkHeader, off int64, buf []byte) ([]byte, error) {
	if cap(buf) < int(h.length) {
		buf = make([]byte, h.length)
	}
	buf = buf[:h.length]
	if _, err := readFull(f.r, buf, off+chunkHeaderSize); err != nil {
		return nil, err
	}
	if checksum(buf) != h.crc {
		return nil, errChecksum
	}
	return buf, nil
}

// chunk reads the chunk that ref names. It must be what ref says, which may be
// from an index.
func (f *chunkFile) chunk(ref chunkRef) ([]byte, error) {
	h, err := f.header(ref.offset)
	if err != nil {
		return nil, err
	}
	payload, err := f.payload(h, ref.offset, nil)
	if err != nil {
		return nil, err
	}
	if is, err := makeRef(h, ref.offset, payload); err != nil || is != ref {
		return nil, errIndex
	}
	return payload, nil
}

// sections reads and unpacks the chunk that ref names.
func (f *chunkFile) sections(ref chunkRef) (s sections, err error) {
	payload, err := f.chunk(ref)
	if err != nil {
		return s, err
	}
	return f.unpack(payload)
}

func (f *chunkFile) unpack(payload []byte) (sections, error) {
	u, _ := f.unpackers.Get().(*unpacker)
	if u == nil {
		u = new(unpacker)
	}
	defer f.unpackers.Put(u)
	return u.sections(payload)
}

// readFull reads all of b at off. A file that became shorter is cut.
func readFull(r io.ReaderAt, b []byte, off int64) (int, error) {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return n, nil
	}
	if err == io.EOF {
		err = errCut
	}
	return n, err
}

// A scan is the list of a file's chunks.
type scan struct {
	refs   []chunkRef
	closed bool  // the last chunk is an index
	index  int64 // where the file ends with an index, whole or not; 0 where with none
	lost   []capture.Lost
	more   int
	cut    uint64 // events of a chunk that was cut off
}

// lose notes that the bytes up to an offset are lost.
func (s *scan) lose(l capture.Lost, to int64) {
	if len(s.lost) == maxLost {
		s.more++
		return
	}
	l.Length = to - l.Offset
	s.lost = append(s.lost, l)
}

// ended reports whether the info that was written last is known, which counts all events: of a
// capture that was closed it is what comes before the index.
func (s *scan) ended() bool {
	info := int64(math.MaxInt64)
	for _, ref := range s.refs {
		if ref.kind == chunkInfo {
			info = ref.offset
		}
	}
	between := func(l capture.Lost) bool { return info <= l.Offset && l.Offset < s.index }
	return info < s.index && s.more == 0 && !slices.ContainsFunc(s.lost, between)
}

// scan reads the whole file and checks every chunk.
func (f *chunkFile) scan() (s scan) {
	var number uint32   // of the next chunk
	var wasted int64    // bytes read for wrong checksums
	lostBefore := false // the bytes before off are lost
	off := int64(headerSize)
	for off < f.size {
		h, err := f.header(off)
		var payload []byte
		if err == nil {
			payload, err = f.payload(h, off, f.buf)
		}
		end := off + chunkHeaderSize + int64(h.length)
		if err == nil {
			f.buf = payload
			if h.number != number && !lostBefore {
				s.lose(capture.Lost{Offset: off, Kind: capture.Misplaced, Number: h.number, Expected: number}, off)
			}
			number, lostBefore = h.number+1, false
			s.add(off, end, h, payload)
			off = end
			continue
		}
		// A chunk's length is not trusted if its bytes are wrong, for some may
		// be missing; but a file that is made of such chunks shall not take
		// time squared.
		next := end
		if err != errChecksum || wasted <= f.size {
			next = f.resync(off + 1)
		}
		wasted += int64(h.length)
		s.loseChunk(f, off, next, h, err)
		off, lostBefore = next, true
	}
	return s
}

// add lists a whole chunk.
func (s *scan) add(off, end int64, h chunkHeader, payload []byte) {
	ref, err := makeRef(h, off, payload)
	if err != nil {
		s.lose(capture.Lost{Offset: off, Kind: capture.BadHead, Number: h.number, Chunk: h.kind.String(), Err: err}, end)
		return
	}
	s.refs = append(s.refs, ref)
	if s.closed = h.kind == chunkIndex; s.closed {
		s.index = off
	} else {
		s.index = 0
	}
}

// makeRef is the ref of a chunk that has been read, perhaps only in part.
func makeRef(h chunkHeader, off int64, payload []byte) (chunkRef, error) {
	ref := chunkRef{kind: h.kind, offset: off}
	if !h.kind.headed() {
		return ref, nil
	}
	sec, _, err := nextSection(payload)
	if err != nil {
		return ref, err
	}
	if sec.id != secHead || sec.encoding != stored {
		return ref, errors.New("the head is missing")
	}
	if h.kind != chunkStacks {
		most := uint64(maxEvents)
		if h.kind == chunkSums {
			most = maxSummed
		}
		head, err := parseHead(sec.data, most)
		ref = head.ref()
		ref.kind, ref.offset = h.kind, off
		return ref, err
	}
	first, count, err := parseStackHead(sec.data)
	ref.first, ref.count = uint64(first), count
	return ref, err
}

// loseChunk notes that the bytes from off to next are lost, where h and err are
// what reading a chunk there gave.
func (s *scan) loseChunk(f *chunkFile, off, next int64, h chunkHeader, err error) {
	if s.index = 0; h.kind == chunkIndex && next == f.size && (err == errChecksum || err == errCut) {
		s.index = off
	}
	l := capture.Lost{Offset: off, Number: h.number, Chunk: h.kind.String()}
	switch {
	case err == errChecksum:
		l.Kind = capture.BadChunk
	case err != errCut && err != errHeader:
		l.Kind, l.Err = capture.NoChunk, err
	case err == errHeader || next < f.size:
		l.Kind = capture.BadBytes
	case h.kind == 0:
		l.Kind = capture.CutHeader
	default:
		l.Kind, l.Have, l.Whole = capture.CutChunk, f.size-off-chunkHeaderSize, int64(h.length)
		if ref, err := f.partialRef(h, off); err == nil && ref.kind == chunkEvents {
			s.cut, l.First, l.Last = uint64(ref.count), ref.first, ref.last
		}
	}
	s.lose(l, next)
}

// partialRef is what the head of a chunk that was cut off says.
func (f *chunkFile) partialRef(h chunkHeader, off int64) (chunkRef, error) {
	b := make([]byte, min(64, f.size-off-chunkHeaderSize))
	if _, err := readFull(f.r, b, off+chunkHeaderSize); err != nil {
		return chunkRef{}, err
	}
	return makeRef(h, off, b)
}

// resync is the offset of the first chunk header at or after off, or the size
// of the file.
func (f *chunkFile) resync(off int64) int64 {
	const window = 1 << 20
	buf := make([]byte, min(window, max(f.size-off, 0)))
	for f.size-off >= chunkHeaderSize {
		b := buf[:min(int64(len(buf)), f.size-off)]
		if _, err := readFull(f.r, b, off); err != nil {
			return f.size
		}
		for i := 0; i+chunkHeaderSize <= len(b); i++ {
			n := bytes.Index(b[i:], []byte(syncMark))
			if n < 0 || i+n+chunkHeaderSize > len(b) {
				break
			}
			i += n
			if _, ok := parseChunkHeader(b[i:]); ok {
				return off + int64(i)
			}
		}
		off += int64(len(b)) - chunkHeaderSize + 1
	}
	return f.size
}

// readIndex is the list of chunks that the index at the end of the file gives.
func (f *chunkFile) readIndex() ([]chunkRef, error) {
	var b [4]byte
	if f.size < headerSize+chunkHeaderSize+trailerSize {
		return nil, errCut
	}
	if _, err := readFull(f.r, b[:], f.size-4); err != nil {
		return nil, err
	}
	off := f.size - int64(binary.LittleEndian.Uint32(b[:]))
	if off < headerSize {
		return nil, errHeader
	}
	h, err := f.header(off)
	if err != nil {
		return nil, err
	}
	if h.kind != chunkIndex || off+chunkHeaderSize+int64(h.length) != f.size {
		return nil, errHeader
	}
	payload, err := f.payload(h, off, nil)
	if err != nil {
		return nil, err
	}
	s, err := f.unpack(payload)
	if err != nil {
		return nil, err
	}
	return parseIndex(s, off)
}

// maxLost bounds the list: a hostile file could be nothing but damage.
const maxLost = 1000
