package gpu

import (
	"iter"
	"math/bits"
)

// DeviceSet is a bit mask of devices of one host: bit i is the device with the i-th lowest index.
type DeviceSet uint32

// maxDevices is the largest number of GPUs in one machine: NV_MAX_DEVICES of the driver's nvlimits.h.
const maxDevices = 32

// Len is the number of devices in the set.
func (s DeviceSet) Len() int { return bits.OnesCount32(uint32(s)) }

// positions iterates over the set bits in ascending order.
func (s DeviceSet) positions() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(bits.TrailingZeros32(uint32(s))) {
				return
			}
		}
	}
}
