package store

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// castagnoli is CRC32C, which the processor computes.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealSize is the length of a seal: the letter 'C' and the checksum.
const sealSize = 5

// sealLog returns a copy of the record whose extensions end with the seal over everything Raft relies on. The
// caller's record is not touched, because Raft sends it to other servers, who seal it themselves.
func sealLog(l *raft.Log) *raft.Log {
	sealed := *l
	sealed.Extensions = appendSeal(bytes.Clone(l.Extensions), logSum(l, l.Extensions))
	return &sealed
}

// unsealLog checks the record that was read at index and takes the seal off; false when it is not what was written.
func unsealLog(l *raft.Log, index uint64) bool {
	plain, sum, ok := cutSeal(l.Extensions)
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

// sealValue returns the value with a seal over key and value, so that a value cannot stand under another key.
func sealValue(key, value []byte) []byte {
	return appendSeal(bytes.Clone(value), valueSum(key, value))
}

func unsealValue(key, sealed []byte) ([]byte, bool) {
	value, sum, ok := cutSeal(sealed)
	return value, ok && sum == valueSum(key, value)
}

func valueSum(key, value []byte) uint32 {
	sum := crc32.Update(0, castagnoli, binary.BigEndian.AppendUint64(nil, uint64(len(key))))
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, value)
}

func appendSeal(b []byte, sum uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, 'C'), sum)
}

func cutSeal(sealed []byte) (plain []byte, sum uint32, ok bool) {
	n := len(sealed) - sealSize
	if n < 0 || sealed[n] != 'C' {
		return nil, 0, false
	}
	return sealed[:n:n], binary.BigEndian.Uint32(sealed[n+1:]), true
}
