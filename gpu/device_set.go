package gpu

import (
	"iter"
	"math/bits"
)

// DeviceSet is some devices of one host: bit i is the device with the i-th lowest index.
type DeviceSet uint32

// maxDevices is how many GPUs one machine can have: NV_MAX_DEVICES of the driver's nvlimits.h.
const maxDevices = 32

// Len is the number of devices in the set.
func (s DeviceSet) Len() int { return bits.OnesCount32(uint32(s)) }

// positions are the bits of the set from the lowest up.
func (s DeviceSet) positions() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(bits.TrailingZeros32(uint32(s))) {
				return
			}
		}
	}
}
