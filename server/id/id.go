// Package id makes the ids of tasks and of everything else that the pool names.
package id

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync/atomic"
	"time"
)

// New makes an id of 32 hex digits, the form of every id in ECS.
func New() string { return hex.EncodeToString(RandomBytes(16)) }

// NewUUID makes the id of an event or an activity, 32 hex digits with dashes.
func NewUUID() string {
	digits := New()
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}

// taskCount is the number of task ids that this process has made.
var taskCount atomic.Uint32

// taskStride is odd, so 65,536 multiples in a row differ in their last 16 bits. It is near 2^16 divided by the golden
// ratio, so multiples of consecutive numbers are far apart.
const taskStride = 40503

// NewTask makes the id of a task, or of an object of a task. Its first four digits are a clock that ticks every 64 ms and comes
// round after 70 minutes: tasks of one moment are placed together, so they are neighbours in the state's trees, and an entry
// for thousands of them changes few nodes. The next four digits differ for 65,536 ids in a row, because people name
// tasks by the first eight. The rest is random.
func NewTask() string {
	id := RandomBytes(16)
	binary.BigEndian.PutUint16(id, uint16(time.Now().UnixMilli()>>6))
	binary.BigEndian.PutUint16(id[2:], uint16(taskCount.Add(1)*taskStride))
	return hex.EncodeToString(id)
}

// NewSeed makes the seed of a placement.
func NewSeed() uint64 { return binary.LittleEndian.Uint64(RandomBytes(8)) }

// RandomBytes makes so many bytes that nobody can guess.
func RandomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails: it ends the process instead
	return b
}
