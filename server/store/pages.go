package store

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
)

// Bolt protects its two meta pages with a checksum and nothing else. A flipped bit in the count of a page makes the
// last records of the log vanish without a trace, so the shape of every page in use is checked here: its elements
// must lie exactly as bolt writes them, one behind the other without a gap.

// Constants of bolt's file format; all numbers are in the byte order of the machine.
const (
	headerSize  = 16 // id 8, flags 2, count 2, overflow 4
	elementSize = 16 // branch: position 4, key size 4, page 8; leaf: flags 4, position 4, key size 4, value size 4
	metaSize    = 56 // of a meta page behind its header, followed by the checksum of it
	bucketSize  = 16 // of a bucket's value: root page 8, sequence 8; root 0 means that its page follows here

	branchPage, leafPage = 1, 2
	bucketElement        = 1
)

var byteOrder = binary.NativeEndian

// meta is the content of one meta page.
type meta struct {
	pageSize          int64
	root, pages, txid uint64
}

// verifyPages reads every page in use. Both meta pages must be valid: bolt accepts one, which may be the state before the last
// commit. A commit changes a meta page within one disk sector, so a crash cannot leave a torn one.
func verifyPages(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	defer file.Close()
	newest, err := readMeta(file, 0)
	if err == nil {
		var other meta
		other, err = readMeta(file, newest.pageSize)
		if other.txid > newest.txid {
			newest = other
		}
	}
	if err == nil {
		w := pageWalk{file: file, meta: newest, seen: make(map[uint64]bool)}
		err = w.page(newest.root)
	}
	if err != nil {
		return &Damage{Path: path, What: err.Error()}
	}
	return nil
}

func readMeta(file *os.File, at int64) (meta, error) {
	page := make([]byte, headerSize+metaSize+8)
	if _, err := file.ReadAt(page, at); err != nil {
		return meta{}, fmt.Errorf("meta page at %d: %w", at, err)
	}
	body := page[headerSize:]
	sum := fnv.New64a()
	sum.Write(body[:metaSize])
	if byteOrder.Uint64(body[metaSize:]) != sum.Sum64() {
		return meta{}, fmt.Errorf("meta page at %d has a wrong checksum", at)
	}
	return meta{
		pageSize: int64(byteOrder.Uint32(body[8:])),
		root:     byteOrder.Uint64(body[16:]),
		pages:    byteOrder.Uint64(body[40:]),
		txid:     byteOrder.Uint64(body[48:]),
	}, nil
}

// pageWalk is one pass over the tree of pages.
type pageWalk struct {
	file *os.File
	meta meta
	seen map[uint64]bool
}

// page checks one page of the file and everything below it.
func (w *pageWalk) page(id uint64) error {
	if id < 2 || id >= w.meta.pages || w.seen[id] {
		return fmt.Errorf("page %d is where no page can be", id)
	}
	w.seen[id] = true
	header := make([]byte, headerSize)
	at := int64(id) * w.meta.pageSize
	if _, err := w.file.ReadAt(header, at); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	overflow := uint64(byteOrder.Uint32(header[12:]))
	if byteOrder.Uint64(header) != id || id+overflow >= w.meta.pages {
		return fmt.Errorf("page %d has a wrong header", id)
	}
	whole := make([]byte, int64(overflow+1)*w.meta.pageSize)
	if _, err := w.file.ReadAt(whole, at); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	if err := w.elements(whole); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

// elements checks that the elements of a page follow each other exactly, and goes down into what they point to.
func (w *pageWalk) elements(page []byte) error {
	if len(page) < headerSize {
		return fmt.Errorf("too short for a page")
	}
	flags, count := byteOrder.Uint16(page[8:]), int(byteOrder.Uint16(page[10:]))
	if flags != branchPage && flags != leafPage {
		return fmt.Errorf("unknown kind of page %#x", flags)
	}
	next := headerSize + count*elementSize
	for i := range count {
		at := headerSize + i*elementSize
		if next > len(page) {
			return fmt.Errorf("element %d lies behind the page", i)
		}
		e := element{page[at : at+elementSize], flags == leafPage}
		if at+e.position() != next || next+e.size() > len(page) {
			return fmt.Errorf("element %d is not where it belongs", i)
		}
		if err := w.descend(e, page[next:next+e.size()]); err != nil {
			return err
		}
		next += e.size()
	}
	return nil
}

// element is the head of a key, and of its value in a leaf.
type element struct {
	head []byte
	leaf bool
}

func (e element) position() int {
	if e.leaf {
		return int(byteOrder.Uint32(e.head[4:]))
	}
	return int(byteOrder.Uint32(e.head))
}

func (e element) size() int {
	if e.leaf {
		return int(byteOrder.Uint32(e.head[8:])) + int(byteOrder.Uint32(e.head[12:]))
	}
	return int(byteOrder.Uint32(e.head[4:]))
}

// descend checks the page below an element: the child of a branch, or the root page of a bucket, which may be inline.
func (w *pageWalk) descend(e element, content []byte) error {
	if !e.leaf {
		return w.page(byteOrder.Uint64(e.head[8:]))
	}
	if byteOrder.Uint32(e.head)&bucketElement == 0 {
		return nil
	}
	keySize := int(byteOrder.Uint32(e.head[8:]))
	if len(content) < keySize+bucketSize {
		return fmt.Errorf("a bucket is too short")
	}
	bucket := content[keySize:]
	if root := byteOrder.Uint64(bucket); root != 0 {
		return w.page(root)
	}
	return w.elements(bucket[bucketSize:])
}
