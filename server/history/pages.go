package history

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
)

// The layout of bbolt's files, of its version 2: a page has a header (id, kind, number of elements, number of pages that it runs over to)
// and elements that say where their key and value are, from their own place on.
const (
	pageHeader  = 16
	pageElement = 16
	pageStep    = 4096 // pages begin at its multiples, whatever their size

	kindBranch   = 1
	kindLeaf     = 2
	kindFreelist = 16

	nestedBucket = 1  // flag of an element: its value is the header of a bucket
	bucketHeader = 16 // root page, 0 when the bucket's only page follows inline; sequence

	metaMagic = 0xED0CDAED
	metaSize  = 64 // magic, version, page size, flags, root, sequence, free list, end of the pages, transaction, checksum
	noPage    = 1<<64 - 1
)

// page is a page, or the beginning of one, as it is in the file.
type page []byte

func (p page) id() uint64       { return binary.LittleEndian.Uint64(p) }
func (p page) kind() int        { return int(binary.LittleEndian.Uint16(p[8:])) }
func (p page) count() int       { return int(binary.LittleEndian.Uint16(p[10:])) }
func (p page) overflow() uint64 { return uint64(binary.LittleEndian.Uint32(p[12:])) }

// element is one of a leaf page: where its key begins in the page, and how long key and value are.
type element struct {
	flags         uint32
	at, key, size int
}

// end is where the value ends.
func (e element) end() int { return e.at + e.key + e.size }

// elements reads the table of a leaf page that takes span bytes. It ends at the first element that does not lie behind the one before
// it, and within the page.
func (p page) elements(span int) iter.Seq2[int, element] {
	return func(yield func(int, element) bool) {
		free := pageHeader + pageElement*p.count()
		if free > len(p) {
			return
		}
		for i := range p.count() {
			at := pageHeader + pageElement*i
			word := func(n int) int { return int(binary.LittleEndian.Uint32(p[at+4*n:])) }
			e := element{flags: uint32(word(0)), at: at + word(1), key: word(2), size: word(3)}
			if e.at < free || e.end() > span || !yield(i, e) {
				return
			}
			free = e.end()
		}
	}
}

// root is the record with which a transaction ends: where everything begins.
type root struct{ pageSize, root, freelist, end, transaction uint64 }

// readRoot reads the newest record of the two that is whole.
func readRoot(file io.ReaderAt) (newest root, err error) {
	first, ok := rootAt(file, 0)
	sizes := []uint64{first.pageSize}
	if !ok {
		for size := uint64(1024); size <= 1<<16; size *= 2 {
			sizes = append(sizes, size)
		}
	} else {
		newest = first
	}
	for _, size := range sizes {
		if second, ok := rootAt(file, size); ok && second.pageSize == size && second.transaction >= newest.transaction {
			newest = second
		}
	}
	if newest.pageSize < 1024 || newest.pageSize > 1<<16 {
		return root{}, fmt.Errorf("neither of its two first pages is whole: %w", ErrDamaged)
	}
	return newest, nil
}

func rootAt(file io.ReaderAt, at uint64) (r root, ok bool) {
	text := make([]byte, pageHeader+metaSize)
	if _, err := file.ReadAt(text, int64(at)); err != nil {
		return r, false
	}
	text = text[pageHeader:]
	number := func(at int) uint64 { return binary.LittleEndian.Uint64(text[at:]) }
	sum := fnv.New64a()
	sum.Write(text[:metaSize-8])
	if binary.LittleEndian.Uint32(text) != metaMagic || sum.Sum64() != number(metaSize-8) {
		return r, false
	}
	return root{uint64(binary.LittleEndian.Uint32(text[8:])), number(16), number(32), number(40), number(48)}, true
}

// ascending reports whether keys are in order, each once.
func ascending(before, key []byte, first bool) bool { return first || bytes.Compare(before, key) < 0 }
