package liveness

import (
	"fmt"
	"log/slog"
	"time"
)

// clockTolerance is how much the clocks of two hosts may differ before anybody is told. A heartbeat that was long on its way makes a
// clock look behind by as much, at most by the time after which a session counts as broken.
const clockTolerance = 5 * time.Second

// ClockOffset is how much the clock of a host is ahead of the one of this server, negative when it is behind; zero when that is no more than
// can be told from a heartbeat's time on its way. No silence is measured by it.
func (m *Monitor) ClockOffset(hostID string) time.Duration { return m.table.clockOffset(hostID) }

// RecordClock takes what the host's clock said when it sent a heartbeat, and returns its ClockOffset.
func (m *Monitor) RecordClock(hostID string, clock time.Time) time.Duration {
	return m.recordClock(hostID, clock.Sub(m.server.Now().Round(0)))
}

// recordClock notes the offset of a host's clock, and the leader logs when it begins or ceases to be off.
func (m *Monitor) recordClock(hostID string, offset time.Duration) time.Duration {
	offset = tolerated(offset)
	if before := m.table.setClockOffset(hostID, offset); (before == 0) == (offset == 0) || !m.server.Leads() {
		return offset
	}
	name := hostID
	if host := m.server.State().View().Host(hostID); host != nil {
		name = host.Name
	}
	if offset == 0 {
		m.log.Info("the clock of a host is right again", "host", name, "hostId", hostID)
	} else {
		m.log.Warn("the clock of a host is off", "host", name, "hostId", hostID, slog.String("clock", DescribeOffset(offset)+" the leader's"), "action", "set the clock of the machine that is wrong, for example with `timedatectl set-ntp true`")
	}
	return offset
}

func tolerated(offset time.Duration) time.Duration {
	if offset.Abs() < clockTolerance {
		return 0
	}
	return offset
}

// DescribeOffset says by how much a clock is off: "2h5m0s ahead of", "48h0m0s behind".
func DescribeOffset(offset time.Duration) string {
	if offset < 0 {
		return fmt.Sprintf("%v behind", -offset.Round(time.Second))
	}
	return fmt.Sprintf("%v ahead of", offset.Round(time.Second))
}

func (t *table) clockOffset(host string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clocks[host]
}

// setClockOffset keeps an offset that is not zero, and returns the one before.
func (t *table) setClockOffset(host string, offset time.Duration) (before time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before = t.clocks[host]
	if offset == 0 {
		delete(t.clocks, host)
		return before
	}
	if t.clocks == nil {
		t.clocks = make(map[string]time.Duration)
	}
	t.clocks[host] = offset
	return before
}
