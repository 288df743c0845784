package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxWholePage is the size up to which verify reads pages whole. Larger ones hold blocks, which have checksums of their own.
const maxWholePage = 1 << 16

// verify tells whether the pages of a file lead to one another as they should. bbolt trusts them: one that leads back to itself would
// take the process with it, and one that is in use and listed as free would be written over. A file that is missing or empty is right.
func verify(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	r, err := readRoot(file)
	if err != nil {
		return err
	}
	if r.end*r.pageSize > uint64(info.Size()) {
		return fmt.Errorf("%d bytes are left of %d or more: %w", info.Size(), r.end*r.pageSize, ErrDamaged)
	}
	v := &verifier{file: file, root: r, used: make([]bool, r.end), next: []uint64{r.root}}
	for len(v.next) > 0 {
		id := v.next[len(v.next)-1]
		v.next = v.next[:len(v.next)-1]
		if err := v.tree(id); err != nil {
			return fmt.Errorf("page %d: %w", id, err)
		}
	}
	if r.freelist != noPage {
		err = v.freelist()
	}
	return err
}

// verifier walks the pages of a file.
type verifier struct {
	file io.ReaderAt
	root root
	used []bool   // pages
	next []uint64 // pages that were led to
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrDamaged)
}

// read takes a page into use and reads it, or its table when it is large.
func (v *verifier) read(id uint64) (p page, span int, err error) {
	if id < 2 || id >= v.root.end {
		return nil, 0, damaged("there is no such page")
	}
	header := make(page, pageHeader)
	if _, err := v.file.ReadAt(header, int64(id*v.root.pageSize)); err != nil {
		return nil, 0, damaged("it cannot be read: %v", err)
	}
	pages := 1 + header.overflow()
	if header.id() != id || id+pages > v.root.end {
		return nil, 0, damaged("it says that it is page %d with %d more", header.id(), header.overflow())
	}
	for n := id; n < id+pages; n++ {
		if v.used[n] {
			return nil, 0, damaged("page %d is used twice", n)
		}
		v.used[n] = true
	}
	span = int(pages * v.root.pageSize)
	size := pageHeader + pageElement*header.count()
	if size > span {
		return nil, 0, damaged("%d elements do not fit", header.count())
	}
	if span <= maxWholePage || header.kind() == kindFreelist {
		size = span
	}
	p = make(page, size)
	if _, err = v.file.ReadAt(p, int64(id*v.root.pageSize)); err != nil {
		err = damaged("it cannot be read: %v", err)
	}
	return p, span, err
}

// tree verifies a page of a bucket, and remembers those that it leads to.
func (v *verifier) tree(id uint64) error {
	p, span, err := v.read(id)
	if err != nil {
		return err
	}
	switch p.kind() {
	case kindBranch:
		return v.branch(p, span)
	case kindLeaf:
		return v.leaf(p, span)
	}
	return damaged("it is of the kind %d", p.kind())
}

func (v *verifier) branch(p page, span int) error {
	if p.count() == 0 {
		return damaged("it leads nowhere")
	}
	var before []byte
	for i := range p.count() {
		at := pageHeader + pageElement*i
		key, size := at+int(binary.LittleEndian.Uint32(p[at:])), int(binary.LittleEndian.Uint32(p[at+4:]))
		if key < pageHeader+pageElement*p.count() || key+size > span {
			return damaged("a key lies outside of it")
		}
		if key+size <= len(p) {
			if !ascending(before, p[key:key+size], i == 0) {
				return damaged("its keys are not in order")
			}
			before = p[key : key+size]
		}
		v.next = append(v.next, binary.LittleEndian.Uint64(p[at+8:]))
	}
	return nil
}

func (v *verifier) leaf(p page, span int) error {
	read := 0
	var before []byte
	for i, e := range p.elements(span) {
		read++
		if e.at+e.key <= len(p) {
			if !ascending(before, p[e.at:e.at+e.key], i == 0) {
				return damaged("its keys are not in order")
			}
			before = p[e.at : e.at+e.key]
		}
		if e.flags&nestedBucket == 0 {
			continue
		}
		if e.end() > len(p) || e.size < bucketHeader {
			return damaged("a bucket has no header")
		}
		value := p[e.at+e.key : e.end()]
		if at := binary.LittleEndian.Uint64(value); at != 0 {
			v.next = append(v.next, at)
		} else if inline := value[bucketHeader:]; len(inline) < pageHeader || inline.kind() != kindLeaf {
			return damaged("a bucket has no page")
		} else if err := v.leaf(inline, len(inline)); err != nil {
			return err
		}
	}
	if read != p.count() {
		return damaged("element %d of %d lies outside of it", read, p.count())
	}
	return nil
}

// freelist verifies that no page is free that is in use, and none twice.
func (v *verifier) freelist() error {
	p, span, err := v.read(v.root.freelist)
	if err != nil {
		return fmt.Errorf("the list of free pages: %w", err)
	}
	n, list := p.count(), p[pageHeader:]
	if n == 0xffff && span >= pageHeader+8 { // then the number stands before the ids
		n, list = int(binary.LittleEndian.Uint64(list)), list[8:]
	}
	if p.kind() != kindFreelist || n < 0 || n > len(list)/8 {
		return damaged("the list of free pages has %d of them", n)
	}
	for i := range n {
		id := binary.LittleEndian.Uint64(list[8*i:])
		if id < 2 || id >= v.root.end || v.used[id] {
			return damaged("page %d is listed as free", id)
		}
		v.used[id] = true
	}
	return nil
}
