package gpuuse

// Milli is the amount of a whole GPU where shares count too.
const Milli = 1000

// MilliOf returns so much memory of a GPU in thousandths of the GPU, rounded up; all of it when its total is not known.
func MilliOf(mib, totalMiB int64) int {
	if totalMiB <= 0 || mib >= totalMiB {
		return Milli
	}
	return int((max(0, mib)*Milli + totalMiB - 1) / totalMiB)
}

// Seconds is the GPU time of so many thousandths of a GPU, to the nearest second.
func Seconds(milli, seconds int64) int64 { return (milli*seconds + Milli/2) / Milli }

// SpreadOverHours adds the GPU-seconds of a span of time, in seconds since 1970, to each of its hours, to the nearest second.
func SpreadOverHours(hours map[int64]int64, milli, from, to int64) {
	for from < to {
		hour := from / 3600
		next := min(to, (hour+1)*3600)
		hours[hour] += Seconds(milli, next-from)
		from = next
	}
}
