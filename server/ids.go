package server

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync/atomic"
	"time"
)

// newID is 32 hex digits: ECS's form of every id.
func newID() string { return hex.EncodeToString(randomBytes(16)) }

// taskIDCount counts the ids of newTaskID.
var taskIDCount atomic.Uint32

// taskIDStride is odd, so its multiples are different in their last 16 bits for 65,536 numbers in a row; it is near 2^16 divided by
// the golden ratio, so those of numbers that follow one another are far apart.
const taskIDStride = 40503

// newTaskID is for tasks, and what is made with them. It begins with four digits of the clock, which go on every 64 ms and come
// again after 70 minutes. Tasks that are made together get their places together: so they lie together in the state's trees, and
// an entry for thousands of them changes few of the nodes. The next four digits are others for each of 65,536 ids in a row,
// because people name tasks by the first eight. The rest is random.
func newTaskID() string {
	id := randomBytes(16)
	binary.BigEndian.PutUint16(id, uint16(time.Now().UnixMilli()>>6))
	binary.BigEndian.PutUint16(id[2:], uint16(taskIDCount.Add(1)*taskIDStride))
	return hex.EncodeToString(id)
}

// newSeed is what a run's placement draws from.
func newSeed() uint64 { return binary.LittleEndian.Uint64(randomBytes(8)) }

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails: it ends the process instead
	return b
}
