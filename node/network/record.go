package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pinion/packaging/atomicfile"
	"pinion/raftfsm/spec"
)

// record is the state of one attachment, in its own file. It is written before the attachment is made (Complete false) and
// again when it is complete.
type record struct {
	ID       string                `json:"-"`       // container id, or the id of a prewarmed attachment; the file's name
	Sandbox  string                `json:"sandbox"` // file name of the namespace; the plugins use it as the container id
	Address  string                `json:"address,omitempty"`
	Bindings []spec.NetworkBinding `json:"bindings,omitempty"`
	Result   result                `json:"result,omitempty"` // the bridge plugin's result, an input of portmap
	Complete bool                  `json:"complete"`
}

// prewarmPrefix marks prewarmed attachments; it is never the beginning of a container id, which begins with a task id.
const prewarmPrefix = "spare-"

func (r record) isPrewarmed() bool { return strings.HasPrefix(r.ID, prewarmPrefix) }

// recordStore is a directory of records. Files are not synced, because a namespace does not survive a crash of the machine
// either.
type recordStore struct{ dir string }

func (s recordStore) path(id string) string { return filepath.Join(s.dir, id+".json") }

// write replaces the record atomically.
func (s recordStore) write(r record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("network record %s: %w", r.ID, err)
	}
	if err := atomicfile.Replace(s.path(r.ID), raw, 0o600); err != nil {
		return fmt.Errorf("network record: %w", err)
	}
	return nil
}

// read returns false for a missing record. A record torn by a crash of the machine reads as empty: its namespace is gone
// too.
func (s recordStore) read(id string) (record, bool) {
	r := record{ID: id}
	raw, err := os.ReadFile(s.path(id))
	if err != nil {
		return r, false
	}
	if json.Unmarshal(raw, &r) != nil {
		return record{ID: id}, true
	}
	return r, true
}

// rename moves an attachment to another id atomically.
func (s recordStore) rename(r record, id string) (record, error) {
	if err := os.Rename(s.path(r.ID), s.path(id)); err != nil {
		return r, fmt.Errorf("network record: %w", err)
	}
	r.ID = id
	return r, nil
}

func (s recordStore) remove(id string) error {
	if err := os.Remove(s.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("network record: %w", err)
	}
	return nil
}

func (s recordStore) all() ([]record, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("network records: %w", err)
	}
	var all []record
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok {
			continue
		}
		if r, ok := s.read(id); ok {
			all = append(all, r)
		}
	}
	return all, nil
}
