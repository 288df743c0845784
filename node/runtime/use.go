package runtime

import "time"

// Usage is the usage of a running container: counters, and values of the moment.
type Usage struct {
	At         time.Time
	CPU        time.Duration // of the container, since its start
	UserCPU    time.Duration // the part of it that was spent in its programs
	KernelCPU  time.Duration // the part of it that was spent in the kernel
	MachineCPU time.Duration // of the machine, on all CPUs and idle or not, since its start
	CPUs       int           // of the machine
	Memory     int64         // bytes, without what the kernel can drop at once
	PeakMemory int64         // the most that it has had, in bytes; 0 where the kernel does not tell
	MemoryMax  int64         // of the machine, in bytes
	Processes  int
	OOMKills   int                // processes that the kernel has killed for memory
	Disk       *BlockIO           // nil: the kernel does not tell
	Interfaces map[string]Traffic // of its network namespace, by name; nil: it has the network of the host
}

// Traffic counts the traffic of a network interface.
type Traffic struct {
	ReceivedBytes, ReceivedPackets, ReceiveErrors, ReceiveDropped   uint64
	TransmitBytes, TransmitPackets, TransmitErrors, TransmitDropped uint64
}

// BlockIO counts the bytes that a container has read from and written to block devices. Reads and writes of the page cache are not in it.
type BlockIO struct{ Read, Written int64 }
