package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pinion/packaging/atomicfile"
	"pinion/raftfsm"
)

const (
	interval      = 24 * time.Hour
	checkInterval = time.Hour
	maxKept       = 7
	timeLayout    = "20060102T150405Z" // sorts by time
	suffix        = ".snapshot"
)

// Daily keeps a snapshot of each of the last seven days in a directory of this server. It saves the state as this server
// has it, because a backup must not depend on a leader.
type Daily struct {
	Dir  string               // made when missing
	View func() *raftfsm.View // the state; nil while this host is no server
	Now  func() time.Time
	Log  *slog.Logger
}

// Run saves a snapshot whenever the newest is a day old, until ctx ends.
func (d *Daily) Run(ctx context.Context) {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		if view := d.View(); view != nil {
			if err := d.saveIfDue(view); err != nil {
				d.Log.Error("the daily snapshot of the pool cannot be written", "error", err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// saveIfDue saves a snapshot when the newest is a day old, and removes the oldest.
func (d *Daily) saveIfDue(view *raftfsm.View) error {
	if view.Pool() == nil { // this server has just begun to follow the pool
		return nil
	}
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return err
	}
	kept, err := filepath.Glob(filepath.Join(d.Dir, "*"+suffix))
	if err != nil {
		return err
	}
	slices.Sort(kept)
	now := d.Now().UTC()
	if len(kept) > 0 {
		newest, err := time.Parse(timeLayout+suffix, filepath.Base(kept[len(kept)-1]))
		if err == nil && now.Sub(newest) < interval {
			return nil
		}
	}
	var text bytes.Buffer
	if err := view.WriteSnapshot(&text); err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(d.Dir, now.Format(timeLayout)+suffix), text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", d.Dir, err)
	}
	var failed []error
	for _, old := range kept[:max(0, len(kept)+1-maxKept)] {
		failed = append(failed, os.Remove(old))
	}
	return errors.Join(failed...)
}
