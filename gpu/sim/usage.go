package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/gpu"
)

// Usage is of gpu.Meter. How busy a device is the file named by its index says, see parseLoad; one without a file is idle, because nothing computes
// here. Memory, power, temperature and clock follow from that. A broken device, or one whose file is wrong, is left out.
func (s *source) Usage(ctx context.Context) ([]gpu.Usage, error) {
	if err := s.await(ctx, ""); err != nil {
		return nil, err
	}
	if why := readAbsent(s.absent); why != "" {
		return nil, fmt.Errorf("no simulated GPU: %s", why)
	}
	files, err := readFaultFiles(s.Dir, len(s.cards))
	if err != nil {
		return nil, err
	}
	hung, _, err := s.hung()
	if err != nil {
		return nil, err
	}
	slow, err := readIndexed(filepath.Join(s.Dir, slowDir), len(s.cards))
	if err != nil {
		return nil, fmt.Errorf("usage of the simulated GPUs: %w", err)
	}
	var all []gpu.Usage
	var failed error
	for _, d := range s.machine.Load().devices {
		if has(files[brokenDir], d.Index) || has(hung, d.Index) || s.isUnplugged(d.Index) {
			continue
		}
		percent, err := readLoad(filepath.Join(s.busy, strconv.Itoa(d.Index)), time.Now())
		if err != nil {
			failed = err
			continue
		}
		usage := s.usageOf(&d, percent)
		if reason := gpu.Slowdown(slow[d.Index]); slices.Contains(gpu.Slowdowns(), reason) {
			slowDown(&usage, reason)
		}
		all = append(all, usage)
	}
	if len(all) == 0 && failed != nil {
		return nil, failed
	}
	return all, nil
}

// slowDown has a device be slow for the reason.
func slowDown(u *gpu.Usage, reason gpu.Slowdown) {
	u.Slowdown = reason
	if u.ClockMHz != nil {
		*u.ClockMHz /= 2
	}
	if u.Celsius != nil && reason == gpu.SlowThermal {
		*u.Celsius = 93
	}
}

// usageOf is the usage of a device whose GPU computes for so many percent of the time. Of a MIG device a driver measures the memory alone.
func (s *source) usageOf(d *gpu.Device, percent float64) gpu.Usage {
	if d.MIGDevice != nil {
		used := 0.9 * float64(d.MemoryMiB) * percent / 100
		return gpu.Usage{UUID: d.UUID, MemoryUsedMiB: &used}
	}
	return groupAt(s.groups, d.Index).usage(d.UUID, percent)
}

// usage is the usage of a device of the model that computes for so many percent of the time: between that of an idle one and the most that it can.
func (m *model) usage(uuid string, percent float64) gpu.Usage {
	between := func(idle, most float64) *float64 {
		v := idle + (most-idle)*percent/100
		return &v
	}
	u := gpu.Usage{UUID: uuid, Utilization: &percent, PowerWatts: between(m.watts/10, m.watts), Celsius: between(30, 75), ClockMHz: between(345, 1980),
		PCIeReceived: between(0, 2000), PCIeSent: between(0, 1000)}
	if major, _, _ := strings.Cut(m.compute, "."); len(major) > 1 || major >= "9" { // Hopper and later have a performance monitor
		u.SMActivity = between(0, 60)
	}
	if m.memoryMiB > 0 {
		u.MemoryUsedMiB = between(0, 0.9*float64(m.memoryMiB))
	}
	if m.lanes > 0 {
		u.NVLinkReceived, u.NVLinkSent = between(0, 50_000), between(0, 50_000)
	}
	return u
}

// readLoad is for how much of the time a device computes now, in percent. A curve begins when its file is written.
func readLoad(path string, now time.Time) (percent float64, err error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("utilization of a simulated GPU: %w", err)
	}
	curve, err := parseLoad(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("utilization of a simulated GPU: %w", err)
	}
	return curve.at(now.Sub(info.ModTime())), nil
}

// load is a curve of utilization, which begins anew behind its last point.
type load []loadPoint

type loadPoint struct {
	after   time.Duration // the point before is earlier
	percent float64
}

// maxLoadPoints bounds a curve.
const maxLoadPoints = 1000

// parseLoad reads "85", or a curve of points with straight lines between them, "0s:10,30s:95,60s:10".
func parseLoad(text string) (load, error) {
	points := strings.Split(text, ",")
	if len(points) > maxLoadPoints {
		return nil, fmt.Errorf("a curve of more than %d points", maxLoadPoints)
	}
	var curve load
	for i, point := range points {
		var after time.Duration
		number := point
		if at, behind, timed := strings.Cut(point, ":"); timed {
			var err error
			if after, err = time.ParseDuration(strings.TrimSpace(at)); err != nil || after < 0 || i > 0 && after <= curve[i-1].after {
				return nil, fmt.Errorf("%q: the time of a point is like 30s, and later than that of the point before", point)
			}
			number = behind
		} else if len(points) > 1 {
			return nil, fmt.Errorf("%q: write a point of a curve as TIME:PERCENT, 30s:95", point)
		}
		percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(percent >= 0 && percent <= 100) {
			return nil, fmt.Errorf("%q: write a number of percent, 0 to 100", point)
		}
		curve = append(curve, loadPoint{after, percent})
	}
	return curve, nil
}

// at is the percentage so long after the curve has begun.
func (l load) at(passed time.Duration) float64 {
	last := l[len(l)-1]
	if passed = max(passed, 0); last.after > 0 {
		passed %= last.after
	}
	before := loadPoint{0, l[0].percent}
	for _, point := range l {
		if passed <= point.after {
			if point.after == before.after {
				return point.percent
			}
			return before.percent + (point.percent-before.percent)*float64(passed-before.after)/float64(point.after-before.after)
		}
		before = point
	}
	return last.percent
}
