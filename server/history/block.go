package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"pinion/raftfsm/compact"
	"pinion/raftfsm/ended"
)

// Sizes of blocks, in tasks.
const (
	blockSize    = 256
	maxBlockSize = 512 // a larger block is split
)

// maxBlockBytes bounds what a block is unpacked to. Damage cannot make it larger.
const maxBlockBytes = 64 << 20

// blockFormat is the first byte of a block.
const blockFormat = 1

// ErrDamaged is the error of what is not on disk as it was written.
var ErrDamaged = errors.New("the history on disk is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksumSize is the length of a checksum.
const checksumSize = 4

// checksum is the CRC32C of texts, one after the other.
func checksum(texts ...[]byte) []byte {
	sum := uint32(0)
	for _, text := range texts {
		sum = crc32.Update(sum, castagnoli, text)
	}
	return binary.BigEndian.AppendUint32(nil, sum)
}

// facet is a field that tasks are looked for by. A block lists the hashes of all values of its tasks, so that a search skips it unread.
type facet string

const (
	facetOutcome facet = "outcome"
	facetTeam    facet = "team"
	facetKey     facet = "key"
	facetFamily  facet = "family"
	facetGroup   facet = "group"
	facetCluster facet = "cluster"
)

func (f facet) hash(value string) uint16 {
	h := fnv.New32a()
	h.Write([]byte(f))
	h.Write([]byte{0})
	h.Write([]byte(value))
	sum := h.Sum32()
	return uint16(sum ^ sum>>16)
}

func facetsOf(t *ended.Task) []uint16 {
	return []uint16{facetOutcome.hash(string(t.Outcome)), facetTeam.hash(t.Team()), facetKey.hash(t.Task.KeyOwner()),
		facetFamily.hash(t.Family()), facetGroup.hash(t.Task.Group), facetCluster.hash(t.Task.Cluster)}
}

// blockCodec writes and reads blocks: a byte for the format, the sorted hashes of the facets with their number in front, the tasks in one
// compact stream, packed, and a CRC32C. It is safe for concurrent use.
type blockCodec struct {
	packer   *zstd.Encoder
	unpacker *zstd.Decoder
}

// theCodec is the codec of all stores of the process.
var theCodec = sync.OnceValues(newBlockCodec)

func newBlockCodec() (*blockCodec, error) {
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<18), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	unpacker, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlockBytes))
	return &blockCodec{packer, unpacker}, err
}

func (c *blockCodec) encode(records []record) []byte {
	var facets []uint16
	var stream compact.Writer
	var tasks, one []byte
	for i := range records {
		facets = append(facets, facetsOf(&records[i].task)...)
		one = stream.Append(one[:0], &records[i].task)
		tasks = append(binary.AppendUvarint(tasks, uint64(len(one))), one...)
	}
	slices.Sort(facets)
	facets = slices.Compact(facets)
	out := binary.AppendUvarint([]byte{blockFormat}, uint64(len(facets)))
	for _, f := range facets {
		out = binary.BigEndian.AppendUint16(out, f)
	}
	out = c.packer.EncodeAll(tasks, out)
	return binary.BigEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
}

// open verifies a block, and returns its facets and what is packed.
func (c *blockCodec) open(block []byte) (facets, packed []byte, err error) {
	if len(block) < 6 || block[0] != blockFormat {
		return nil, nil, fmt.Errorf("a block of %d bytes of an unknown format: %w", len(block), ErrDamaged)
	}
	body := block[:len(block)-4]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(block[len(body):]) {
		return nil, nil, fmt.Errorf("a block has a wrong checksum: %w", ErrDamaged)
	}
	n, size := binary.Uvarint(body[1:])
	body = body[1+max(size, 0):]
	if size <= 0 || n > uint64(len(body)/2) {
		return nil, nil, fmt.Errorf("a block is cut short: %w", ErrDamaged)
	}
	return body[:2*n], body[2*n:], nil
}

// mayHave reports whether the block has tasks with all of these facets, as far as their hashes tell.
func mayHave(facets []byte, wanted []uint16) bool {
	for _, w := range wanted {
		low, high := 0, len(facets)/2
		for low < high {
			middle := (low + high) / 2
			if binary.BigEndian.Uint16(facets[2*middle:]) < w {
				low = middle + 1
			} else {
				high = middle
			}
		}
		if 2*low == len(facets) || binary.BigEndian.Uint16(facets[2*low:]) != w {
			return false
		}
	}
	return true
}

// decode reads the tasks of a block.
func (c *blockCodec) decode(block []byte) ([]record, error) {
	_, packed, err := c.open(block)
	if err != nil {
		return nil, err
	}
	return c.unpack(packed)
}

func (c *blockCodec) unpack(packed []byte) ([]record, error) {
	tasks, err := c.unpacker.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("a block: %w: %w", err, ErrDamaged)
	}
	var stream compact.Reader
	var records []record
	for len(tasks) > 0 {
		n, size := binary.Uvarint(tasks)
		if size <= 0 || n > uint64(len(tasks)-size) {
			return nil, fmt.Errorf("a block is cut short: %w", ErrDamaged)
		}
		var t ended.Task
		if err := stream.Read(tasks[size:size+int(n)], &t); err != nil {
			return nil, fmt.Errorf("a block: %w: %w", err, ErrDamaged)
		}
		r, err := newRecord(t)
		if err != nil {
			return nil, fmt.Errorf("a block: %w: %w", err, ErrDamaged)
		}
		records = append(records, r)
		tasks = tasks[size+int(n):]
	}
	return records, nil
}
