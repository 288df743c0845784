package logforward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"pinion/node/logs"
	"pinion/packaging/backoff"
	"pinion/raftfsm/valuefrom"
)

const (
	// maxBatchBytes and maxBatchLines bound a batch, and so the lines that come twice when it is sent again.
	maxBatchBytes = 256 << 10
	maxBatchLines = 1000
	// pollInterval is the time between two looks at a log without a notice of a change.
	pollInterval = time.Second
	// retryMin and retryMax are the pauses after failures, which double, less up to a half by chance.
	retryMin, retryMax = 500 * time.Millisecond, 30 * time.Second
	// sayInterval is the least time between two lines about the same failure.
	sayInterval = time.Minute
)

// sender sends lines to one destination.
type sender interface {
	// send returns nil when the destination has the lines, as far as its protocol tells. After an error none counts as sent.
	send(ctx context.Context, lines []logs.StreamLine) error
	close()
}

// rejectedError is the error of lines that a destination will never take, however often they are sent.
type rejectedError struct{ error }

// forwarder sends the log of one container.
type forwarder struct {
	all  *Forwarders
	of   logs.ForwardedLog
	note forwardRecord
	log  *slog.Logger
	over atomic.Bool // no more is written when the logger has ended
	gone atomic.Bool // the containers of its task have ended for good

	perLine  int // bytes that go with each line: the note's Extra
	secrets  secretOptions
	ended    chan struct{} // closed when it has
	position position
	problems problems
}

// run sends the log to its end, or until ctx ends.
func (f *forwarder) run(ctx context.Context) {
	if err := f.position.open(f.all.config.Store, f.of); err != nil {
		f.log.Warn("where the log was sent up to cannot be read: it is sent from its beginning", "error", err)
	}
	defer func() { f.position.close() }()
	for delays := (backoff.Backoff{Min: retryMin, Max: f.retryMax()}); ; {
		sent, ended, err := f.forward(ctx)
		if ctx.Err() != nil || ended && f.all.finish(f) {
			return
		}
		if sent || err == nil {
			delays.Reset()
		}
		if err != nil {
			f.problems.failed(f, err)
		}
		if f.givesUp(err) {
			return
		}
		pause := delays.Next()
		if backoff.Sleep(ctx, pause/2+rand.N(pause/2)) != nil {
			return
		}
		if err == nil {
			delays.Reset()
		}
	}
}

// givesUp ends a forwarder that will never send the rest of its log, and reports whether it has.
func (f *forwarder) givesUp(err error) bool {
	why := "the secrets of its driver cannot be had any more"
	switch {
	case err != nil && f.routed() && f.routerGone():
		why = "the log router of the task has ended"
	case !errors.Is(err, valuefrom.ErrUnresolved):
		return false
	}
	if !f.all.finish(f) {
		return false
	}
	f.logProblem("what is left of the log is not sent: " + why)
	return true
}

// forward opens the log and sends its lines, old and new, until the log ends or there is an error. Between two calls a forwarder holds
// neither the log nor a connection.
func (f *forwarder) forward(ctx context.Context) (sent, ended bool, err error) {
	slot, err := f.acquireSlot(ctx)
	if err != nil {
		return false, false, err
	}
	defer slot.end()
	stream, err := f.all.config.Store.OpenStream(f.of.Task, f.of.Container, f.position.at)
	if stream == nil {
		return false, err == nil && f.over.Load(), err
	}
	defer stream.Close()
	to, err := f.newSender(ctx)
	if err != nil {
		return false, false, err
	}
	defer to.close()
	for silent := 0; ; {
		if !f.over.Load() {
			slot.end()
		} else if slot.isOver() {
			return sent, false, nil
		}
		lines, err := f.read(stream)
		if err != nil {
			return sent, false, err
		}
		if len(lines) > 0 {
			if err := f.send(ctx, to, lines); err != nil {
				return sent, false, err
			}
			sent, silent = true, 0
			continue
		}
		if silent++; !f.over.Load() || stream.Written() {
			silent = 0
		}
		if silent == 2 { // not only between two files of the logger
			return sent, true, nil
		}
		if err := stream.Wait(ctx, pollInterval); err != nil {
			return sent, false, err
		}
	}
}

// read takes the next lines, with one about those that are missing.
func (f *forwarder) read(stream *logs.Stream) (lines []logs.StreamLine, err error) {
	for bytes := 0; bytes < maxBatchBytes && len(lines) < maxBatchLines; {
		line, ok, err := stream.Next()
		if !ok || err != nil {
			return lines, err
		}
		if line.Lost > 0 {
			f.problems.lost = line.Lost
			lines = append(lines, logs.StreamLine{Time: line.Time, Stderr: true, Text: lostText(line.Lost)})
		}
		lines = append(lines, line)
		bytes += len(line.Text) + f.perLine
	}
	return lines, nil
}

// lostText is the line in place of lines that were removed unread.
func lostText(bytes int64) string {
	return fmt.Sprintf("pinion: %d bytes of the log of this container were dropped here: they were removed from its files, max-size times max-file, before they could be sent", bytes)
}

// send sends lines, and those that are rejected one by one, so that a single one of them is left out.
func (f *forwarder) send(ctx context.Context, to sender, lines []logs.StreamLine) error {
	err := to.send(ctx, lines)
	if _, rejected := errors.AsType[*rejectedError](err); rejected {
		for i := range lines {
			err = to.send(ctx, lines[i:i+1])
			if wrong, rejected := errors.AsType[*rejectedError](err); rejected {
				f.problems.rejected(f, wrong)
			} else if err != nil {
				return err
			}
		}
	} else if err != nil {
		return err
	}
	for _, line := range lines {
		if line.Lost > 0 {
			f.problems.dropped(f, line.Lost)
		}
	}
	f.position.at = lines[len(lines)-1].End
	f.problems.ended(f)
	return f.position.save()
}

// position is up to where a log is sent, kept in a file beside it.
type position struct {
	at   int64
	file interface {
		WriteAt([]byte, int64) (int, error)
		Close() error
	}
}

// open takes over the position that was kept. What is no position is none.
func (p *position) open(store *logs.Store, of logs.ForwardedLog) error {
	file, err := store.OpenPosition(of)
	if err != nil {
		return err
	}
	p.file = file
	var text [32]byte
	n, _ := file.ReadAt(text[:], 0)
	p.at, err = strconv.ParseInt(strings.TrimSpace(string(text[:n])), 10, 64)
	if err != nil || p.at < 0 {
		p.at = 0
		if n == 0 {
			return nil
		}
	}
	return err
}

// save keeps the position. It is in the page cache then, and so outlives this process.
func (p *position) save() error {
	if p.file == nil {
		return nil
	}
	_, err := p.file.WriteAt(fmt.Appendf(nil, "%020d\n", p.at), 0)
	return err
}

func (p *position) close() {
	if p.file != nil {
		_ = p.file.Close()
	}
}
