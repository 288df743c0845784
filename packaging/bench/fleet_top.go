package main

import "time"

const (
	// topRepeats is the number of timed runs of `pinion top`.
	topRepeats = 20
	// betweenTops is the age at which an answer of a host is not used again: after it, each host is asked anew.
	betweenTops = 1100 * time.Millisecond
)

// measureFleetTop times `pinion top --once` of all GPUs of the fleet, its whole process, in turns with `pinion version`, which asks nobody. The fleet
// has measured its GPUs before.
func measureFleetTop(p *pool, f *fleet, r *results) error {
	now, err := p.waitReady()
	if err != nil {
		return err
	}
	var tops, versions []time.Duration
	for range topRepeats {
		top, err := timeCommand(now.leader.Binary(), "--data-dir", now.leader.Dir, "top", "--once")
		if err != nil {
			return err
		}
		version, err := timeCommand(now.leader.Binary(), "version")
		if err != nil {
			return err
		}
		tops, versions = append(tops, top), append(versions, version)
		if err := p.rest(betweenTops); err != nil {
			return err
		}
	}
	return r.add("Fleet/top", len(tops), append(percentiles("", tops), took("version-p50", median(versions)), measured(float64(f.size), "hosts"))...)
}
