package logforward

import (
	"errors"
	"fmt"
	"time"

	"pinion/node/firelens"
)

// routerStart is the time in which a log router has to listen; after it the forwarder complains.
const routerStart = 10 * time.Second

// problems are why lines are not sent, and how many never will be. It is told in the log of the container and in that of the host.
type problems struct {
	since time.Time // of the first failure since lines were sent; zero: there is none
	said  time.Time // when it was told last
	told  bool      // it was, and that it is over was not
	lost  int64     // bytes that are gone from the log and were not told to the destination yet

	bytes      int64 // dropped in all
	lines      int64 // rejected in all
	droppedAt  time.Time
	rejectedAt time.Time
}

// failed notes a failure.
func (p *problems) failed(f *forwarder, err error) {
	now := time.Now()
	if p.since.IsZero() {
		p.since = now
	}
	if now.Sub(p.said) < sayInterval || errors.Is(err, firelens.ErrNotListening) && now.Sub(p.since) < routerStart {
		return
	}
	text := fmt.Sprintf("the log cannot be sent: %v", err)
	if now.Sub(p.since) >= sayInterval {
		text = fmt.Sprintf("the log cannot be sent since %s: %v", p.since.UTC().Format(time.RFC3339), err)
	}
	if p.lost > 0 {
		text += fmt.Sprintf("; %d bytes of it are gone already", p.lost)
	}
	p.said, p.told = now, true
	f.logProblem(text)
}

// ended notes that lines are sent.
func (p *problems) ended(f *forwarder) {
	p.lost = 0
	if p.told {
		f.logProblem(fmt.Sprintf("the log is sent again, which it was not since %s", p.since.UTC().Format(time.RFC3339)))
	}
	p.since, p.told = time.Time{}, false
}

// dropped counts lines that were removed before they could be sent.
func (p *problems) dropped(f *forwarder, bytes int64) {
	p.bytes += bytes
	if now := time.Now(); now.Sub(p.droppedAt) >= sayInterval {
		p.droppedAt = now
		f.logProblem(fmt.Sprintf("%d bytes of the log were removed before they could be sent, since this host's pinion has started: the destination takes less than the container writes, or was away", p.bytes))
	}
}

// rejected counts a line that the destination does not take.
func (p *problems) rejected(f *forwarder, err error) {
	p.lines++
	if now := time.Now(); now.Sub(p.rejectedAt) >= sayInterval {
		p.rejectedAt = now
		f.logProblem(fmt.Sprintf("the destination has rejected %d lines, since this host's pinion has started: %v", p.lines, err))
	}
}

// logProblem tells it in both logs.
func (f *forwarder) logProblem(text string) {
	f.log.Warn("forwarding the log of a container", "message", text)
	if err := f.all.config.Store.AppendForwardMessage(f.of, "pinion: "+f.note.Log.LogDriver+": "+text); err != nil {
		f.log.Warn("the log of the container cannot be written", "error", err)
	}
}
