package gpu

import (
	"iter"
	"math/bits"
)

// DeviceSet is a bit mask of devices of one host: bit i is the device with the i-th lowest index.
type DeviceSet uint64

// Len is the number of devices in the set.
func (s DeviceSet) Len() int { return bits.OnesCount64(uint64(s)) }

// positions iterates over the set bits in ascending order.
func (s DeviceSet) positions() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(bits.TrailingZeros64(uint64(s))) {
				return
			}
		}
	}
}
