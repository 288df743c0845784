package history

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"pinion/raftfsm/ended"
	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/spec"
)

const (
	daySeconds = 24 * 60 * 60
	// maxUsageDays bounds the days that one task is spread over; the rest counts for its last days.
	maxUsageDays = 400
)

// usageKey is what sums differ in: a day since 1970, and cluster, team, key and family of the tasks.
type usageKey struct {
	day                        int32
	cluster, team, key, family string
}

// usageSum is a sum over tasks.
type usageSum struct {
	tasks, failed, gpuSeconds int64
	measured, busy, joules    int64 // of the GPU time, see gpuuse.Totals
	running                   int64 // tasks; it is never on disk
}

func (s usageSum) plus(more usageSum) usageSum {
	return usageSum{s.tasks + more.tasks, s.failed + more.failed, s.gpuSeconds + more.gpuSeconds,
		s.measured + more.measured, s.busy + more.busy, s.joules + more.joules, s.running + more.running}
}

// fields are the numbers in the order in which they are written. Earlier versions wrote the first three alone.
func (s *usageSum) fields() []*int64 {
	return []*int64{&s.tasks, &s.failed, &s.gpuSeconds, &s.measured, &s.busy, &s.joules}
}

// firstFields is the number of fields that earlier versions wrote, and that are written where the others are 0.
const firstFields = 3

// usageSums are sums that a transaction adds to those on disk.
type usageSums map[usageKey]usageSum

// count adds a task: its GPU time to the days on which it ran, itself to the day on which it ended.
func (u usageSums) count(t *ended.Task) {
	to := time.Unix(0, stoppedAt(&t.Task)).Unix()
	one := usageSum{tasks: 1}
	if t.Outcome == ended.Failed {
		one.failed = 1
	}
	u.add(u.countGPUTime(t, to), one)
}

// countRunning adds a task that runs: its GPU time up to now, itself to today.
func (u usageSums) countRunning(t *spec.Task, now time.Time) {
	if t.LastStatus != spec.Stopped && !t.Times.Started.IsZero() {
		u.add(u.countGPUTime(&ended.Task{Task: *t}, now.Unix()), usageSum{running: 1})
	}
}

// countGPUTime adds the GPU time of a task up to a moment. It returns the key of the task on the day of that.
func (u usageSums) countGPUTime(t *ended.Task, to int64) usageKey {
	k := usageKey{cluster: t.Task.Cluster, team: t.Team(), key: t.Task.KeyOwner(), family: t.Family()}
	if milli := int64(t.Task.GPUMilli()); milli > 0 && !t.Task.Times.Started.IsZero() {
		start := max(t.Task.Times.Started.Unix(), to-maxUsageDays*daySeconds)
		totals := t.Task.GPUTotals().Bounded(gpuuse.Seconds(milli, max(0, to-start)))
		for from := start; from < to; {
			k.day = int32(from / daySeconds)
			next := min(to, (int64(k.day)+1)*daySeconds)
			part := func(total int64) int64 {
				return until(total, next-start, to-start) - until(total, from-start, to-start)
			}
			u.add(k, usageSum{gpuSeconds: gpuuse.Seconds(milli, next-from), measured: part(totals.MeasuredSeconds), busy: part(totals.BusySeconds), joules: part(totals.Joules)})
			from = next
		}
	}
	k.day = int32(to / daySeconds)
	return k
}

// until is how much of a total comes in the first seconds of all, when it comes evenly.
func until(total, seconds, all int64) int64 {
	return int64(float64(total) * float64(seconds) / float64(all))
}

func (u usageSums) add(k usageKey, more usageSum) {
	u[k] = u[k].plus(more)
}

// addTo adds the sums to those on disk.
func (u usageSums) addTo(b *bbolt.Bucket) error {
	for k, sum := range u {
		name := k.encode()
		if known := b.Get(name); known != nil {
			before, err := decodeSum(name, known)
			if err != nil {
				return err
			}
			sum = sum.plus(before)
		}
		if err := b.Put(name, sum.encode(name)); err != nil {
			return err
		}
	}
	return nil
}

func (k usageKey) encode() []byte {
	return append(dayKey(k.day), strings.Join([]string{k.cluster, k.team, k.key, k.family}, "\x00")...)
}

// dayKey is how the keys of a day begin.
func dayKey(day int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(max(0, day))) }

func decodeUsageKey(name []byte) (usageKey, error) {
	parts := bytes.Split(name[min(4, len(name)):], []byte{0})
	if len(name) < 4 || len(parts) != 4 {
		return usageKey{}, fmt.Errorf("a sum of usage: %w", ErrDamaged)
	}
	return usageKey{int32(binary.BigEndian.Uint32(name)), string(parts[0]), string(parts[1]), string(parts[2]), string(parts[3])}, nil
}

// encode is the value under a key: three or six numbers, and a checksum of both.
func (s usageSum) encode(name []byte) []byte {
	fields := s.fields()
	if s.measured|s.busy|s.joules == 0 {
		fields = fields[:firstFields]
	}
	var text []byte
	for _, field := range fields {
		text = binary.AppendUvarint(text, uint64(*field))
	}
	return append(text, checksum(name, text)...)
}

func decodeSum(name, text []byte) (s usageSum, err error) {
	value := text
	for i, field := range s.fields() {
		if i == firstFields && len(text) <= checksumSize {
			break
		}
		n, size := binary.Uvarint(text)
		if size <= 0 {
			return s, fmt.Errorf("a sum of usage: %w", ErrDamaged)
		}
		*field, text = int64(n), text[size:]
	}
	if len(text) > 0 && !bytes.Equal(text, checksum(name, value[:len(value)-len(text)])) { // earlier versions wrote none
		return s, fmt.Errorf("a sum of usage has a wrong checksum: %w", ErrDamaged)
	}
	return s, nil
}

// Usage sums up the ended tasks that a query selects.
func (s *Store) Usage(q ended.UsageQuery) (report ended.Usage, err error) {
	sums := map[ended.UsageRow]usageSum{}
	add := func(k usageKey, sum usageSum) {
		row := k.row(q.By)
		before, known := sums[row]
		if !known && len(sums) >= 10*ended.MaxRows {
			report.More = true // a bound of memory; sums by fewer fields are whole
			return
		}
		sums[row] = before.plus(sum)
	}
	err = s.view(func(tx *bbolt.Tx) error {
		m, err := readMeta(tx)
		if err != nil {
			return err
		}
		report.Gaps = m.Gaps
		c := tx.Bucket(bucketUsage).Cursor()
		for name, text := c.Seek(dayKey(dayOf(q.Since))); name != nil; name, text = c.Next() {
			k, err := decodeUsageKey(name)
			if err != nil {
				return err
			}
			if !q.Until.IsZero() && k.day > dayOf(q.Until) {
				return nil
			}
			if !k.matches(q) {
				continue
			}
			sum, err := decodeSum(name, text)
			if err != nil {
				return err
			}
			add(k, sum)
		}
		return nil
	})
	running := usageSums{}
	for _, t := range q.Running {
		running.countRunning(t, q.Now)
	}
	for k, sum := range running {
		if k.day >= dayOf(q.Since) && (q.Until.IsZero() || k.day <= dayOf(q.Until)) && k.matches(q) {
			add(k, sum)
		}
	}
	report.Rows = sortedRows(sums)
	if len(report.Rows) > ended.MaxRows {
		report.Rows, report.More = report.Rows[:ended.MaxRows], true
	}
	return report, err
}

// dayOf is the day of a moment since 1970, 0 of none.
func dayOf(t time.Time) int32 { return int32(max(0, t.Unix()) / daySeconds) }

func (k usageKey) matches(q ended.UsageQuery) bool {
	return (q.Team == "" || q.Team == k.team) && (q.Key == "" || q.Key == k.key) && (q.Family == "" || q.Family == k.family) &&
		(q.Cluster == "" || q.Cluster == k.cluster) && (q.Allowed == nil || q.Allowed(k.cluster, k.team))
}

// row is the row that a sum belongs to.
func (k usageKey) row(by []ended.Dimension) (row ended.UsageRow) {
	for _, d := range by {
		switch d {
		case ended.ByDay:
			row.Day = time.Unix(int64(k.day)*daySeconds, 0).UTC().Format(time.DateOnly)
		case ended.ByCluster:
			row.Cluster = k.cluster
		case ended.ByTeam:
			row.Team = k.team
		case ended.ByKey:
			row.Key = k.key
		case ended.ByFamily:
			row.Family = k.family
		}
	}
	return row
}

// sortedRows are the rows by day, then those with the most GPU time.
func sortedRows(sums map[ended.UsageRow]usageSum) (rows []ended.UsageRow) {
	for row, sum := range sums {
		row.Tasks, row.Failed, row.GPUSeconds = sum.tasks, sum.failed, sum.gpuSeconds
		row.MeasuredGPUSeconds, row.BusyGPUSeconds, row.Joules, row.Running = sum.measured, sum.busy, sum.joules, sum.running
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b ended.UsageRow) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), cmp.Compare(b.GPUSeconds, a.GPUSeconds), cmp.Compare(b.Tasks, a.Tasks),
			strings.Compare(a.Team+"\x00"+a.Key+"\x00"+a.Family+"\x00"+a.Cluster, b.Team+"\x00"+b.Key+"\x00"+b.Family+"\x00"+b.Cluster))
	})
	return rows
}
