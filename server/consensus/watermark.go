package consensus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"pinion/packaging/atomicfile"
	"pinion/packaging/tick"
	"pinion/server/id"
)

// watermarkInterval is how often the term and the applied index are written beside the directory.
const watermarkInterval = 5 * time.Second

// watermark is what a server's directory has to hold at least, in a file outside of it (Config.Watermark). A server with an older copy
// of its directory has forgotten changes that it acknowledged and votes that it gave, and with its vote the pool could take them
// back: such a directory is refused.
//
// Each opening of the directory has a name, which is in the directory and beside it, so a copy from before the last opening is
// known by its name. A copy that was made while the server ran is known by its term and index, which are written beside the
// directory at times and when the node is closed. No commit waits for any of it.
type watermark struct {
	cfg   Config
	known watermarkFile
}

// watermarkFile is what the file holds. All of its values only grow, or are new names.
type watermarkFile struct {
	Opened  string `json:"opened,omitempty"`  // the last opening; also in the directory
	Opening string `json:"opening,omitempty"` // the one that was being written into the directory
	Term    uint64 `json:"term"`
	Index   uint64 `json:"index"` // applied, so it is in the log or in a snapshot
}

// openWatermark reads the watermark and refuses an older directory (ErrOlderCopy); nothing is changed yet.
func openWatermark(cfg Config) (*watermark, error) {
	w := &watermark{cfg: cfg}
	if cfg.Watermark == "" {
		return w, nil
	}
	text, err := os.ReadFile(cfg.Watermark)
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &w.known)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read (%w): it tells an older copy of %s; when the directory is as this host left it, delete the file", cfg.Watermark, err, cfg.Dir)
	}
	name, err := os.ReadFile(w.nameFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	switch opened := strings.TrimSpace(string(name)); {
	case w.known.Opened == "" || opened == w.known.Opened || opened != "" && opened == w.known.Opening:
		return w, nil
	case opened == "" && !cfg.Recover:
		w.cfg.Alone = false // an empty directory is no copy to go on from
	}
	return w, w.refuse("this server has opened it since the copy was made")
}

// nameFile is where the directory has the name of its last opening.
func (w *watermark) nameFile() string { return filepath.Join(w.cfg.Dir, "opened") }

// checkLog refuses a directory that holds less than it did (ErrOlderCopy).
func (w *watermark) checkLog(term, last uint64) error {
	if term < w.known.Term || last < w.known.Index {
		return w.refuse(fmt.Sprintf("it ends at term %d and index %d, and this server has had %d and %d", term, last, w.known.Term, w.known.Index))
	}
	return nil
}

// refuse is the error of an older directory; nil where it is known what that means.
func (w *watermark) refuse(why string) error {
	switch {
	case w.cfg.Recover: // of a new incarnation: what is lost is known, and nobody of the old one is heard
		w.known = watermarkFile{}
		return nil
	case w.cfg.Alone:
		w.cfg.Log.Warn("an older copy of the raft directory was put back: what was recorded after it was made is lost", "directory", w.cfg.Dir, "reason", why)
		w.known = watermarkFile{}
		return nil
	}
	return fmt.Errorf("%s: %w: %s. A server that goes back to a copy forgets changes that it has acknowledged, so this one does not vote any more. "+
		"Remove this host on another one with `pinion hosts rm --force %s`, then start it with an empty --data-dir and `pinion up --join ADDR --token T`; "+
		"if no other server is left, `pinion recover` goes on from the copy", w.cfg.Dir, ErrOlderCopy, why, w.cfg.HostID)
}

// begin gives this opening of the directory its name. A disk that is full leaves the name that there is.
func (w *watermark) begin() error {
	if w.cfg.Watermark == "" {
		return nil
	}
	name := id.New()
	w.known.Opening = name
	err := w.write()
	if err == nil {
		err = atomicfile.Write(w.nameFile(), []byte(name+"\n"), 0o600)
	}
	if err == nil {
		w.known.Opened, w.known.Opening = name, ""
		err = w.write()
	}
	if err != nil {
		return fmt.Errorf("note that %s was opened: %w", w.cfg.Dir, err)
	}
	return nil
}

// raise writes down the term and the applied index when they are higher.
func (w *watermark) raise(term, applied uint64) error {
	if w.cfg.Watermark == "" || term <= w.known.Term && applied <= w.known.Index {
		return nil
	}
	w.known.Term, w.known.Index = max(term, w.known.Term), max(applied, w.known.Index)
	return w.write()
}

func (w *watermark) write() error {
	text, err := json.Marshal(w.known)
	if err != nil {
		return err
	}
	return atomicfile.Write(w.cfg.Watermark, append(text, '\n'), 0o600)
}

// run keeps the watermark near to what the directory holds, until ctx ends.
func (w *watermark) run(ctx context.Context, r *raft.Raft) {
	tick := tick.New(watermarkInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.advance(r, slog.LevelDebug)
		case <-ctx.Done():
			return
		}
	}
}

// advance raises the watermark to what the directory holds.
func (w *watermark) advance(r *raft.Raft, level slog.Level) {
	if err := w.raise(r.CurrentTerm(), r.AppliedIndex()); err != nil {
		w.cfg.Log.Log(context.Background(), level, "cannot note how far the log is; an older copy of it might go unnoticed", "file", w.cfg.Watermark, "error", err)
	}
}
