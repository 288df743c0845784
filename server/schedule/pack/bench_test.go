package pack

import "testing"

// BenchmarkPlace fills 10,000 hosts of 8 GPUs to 90 % with tasks of four shapes, again and again.
func BenchmarkPlace(b *testing.B) {
	shapes := []Shape{
		{CPU: 8000, MemoryMiB: 16384, GPUs: 1, Milli: Whole}, {CPU: 12000, MemoryMiB: 32768, GPUs: 1, Milli: Whole},
		{CPU: 16000, MemoryMiB: 65536, GPUs: 2, Milli: Whole}, {CPU: 4000, MemoryMiB: 8192, GPUs: 1, Milli: 470},
	}
	const hosts, full = 10_000, 10_000 * 8 * Whole / 10 * 9
	var packer *Packer
	used := full
	for i := 0; b.Loop(); i++ {
		if used >= full {
			b.StopTimer()
			packer, used = idle(hosts), 0
			b.StartTimer()
		}
		s := shapes[i%len(shapes)]
		if _, _, ok := packer.Place(s); !ok {
			used = full
			continue
		}
		used += s.GPUMilli()
	}
}

func idle(n int) *Packer {
	hosts := make([]Host, n)
	for i := range hosts {
		hosts[i] = Host{CPU: 96_000, MemoryMiB: 1 << 20, Model: "H100", Free: make([]int, 8)}
		for gpu := range hosts[i].Free {
			hosts[i].Free[gpu] = Whole
		}
	}
	return NewPacker(hosts, newLookahead())
}
