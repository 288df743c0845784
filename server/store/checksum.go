package store

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// castagnoli is the CRC32C table; the processor has an instruction for it.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksumSize is the length of an appended checksum: the letter 'C' and the CRC32C.
const checksumSize = 5

// addChecksum returns a copy of the record whose extensions end with a checksum over every field that Raft relies on. It does
// not modify the caller's record, because Raft sends that to other servers, which add their own checksum.
func addChecksum(l *raft.Log) *raft.Log {
	sealed := *l
	sealed.Extensions = appendChecksum(bytes.Clone(l.Extensions), logSum(l, l.Extensions))
	return &sealed
}

// verifyChecksum verifies the record read at index and removes the checksum; false when the record is not what was written.
func verifyChecksum(l *raft.Log, index uint64) bool {
	plain, sum, ok := cutChecksum(l.Extensions)
	if !ok || l.Index != index || sum != logSum(l, plain) {
		return false
	}
	l.Extensions = plain
	return true
}

func logSum(l *raft.Log, extensions []byte) uint32 {
	head := binary.BigEndian.AppendUint64(nil, l.Index)
	head = binary.BigEndian.AppendUint64(head, l.Term)
	head = append(head, byte(l.Type))
	head = binary.BigEndian.AppendUint64(head, uint64(l.AppendedAt.UnixNano()))
	head = binary.BigEndian.AppendUint64(head, uint64(len(l.Data)))
	sum := crc32.Update(0, castagnoli, head)
	sum = crc32.Update(sum, castagnoli, l.Data)
	return crc32.Update(sum, castagnoli, extensions)
}

// addValueChecksum returns the value with a checksum over key and value, so that a value under a wrong key is detected.
func addValueChecksum(key, value []byte) []byte {
	return appendChecksum(bytes.Clone(value), valueSum(key, value))
}

func verifyValueChecksum(key, sealed []byte) ([]byte, bool) {
	value, sum, ok := cutChecksum(sealed)
	return value, ok && sum == valueSum(key, value)
}

func valueSum(key, value []byte) uint32 {
	sum := crc32.Update(0, castagnoli, binary.BigEndian.AppendUint64(nil, uint64(len(key))))
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, value)
}

func appendChecksum(b []byte, sum uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, 'C'), sum)
}

func cutChecksum(sealed []byte) (plain []byte, sum uint32, ok bool) {
	n := len(sealed) - checksumSize
	if n < 0 || sealed[n] != 'C' {
		return nil, 0, false
	}
	return sealed[:n:n], binary.BigEndian.Uint32(sealed[n+1:]), true
}
