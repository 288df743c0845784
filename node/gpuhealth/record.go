// Package gpuhealth remembers what is wrong with the GPUs of this host: from the moment at which that is known until a check has passed, over
// restarts of the agent and of the machine.
package gpuhealth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pinion/gpu"
	"pinion/gpu/xid"
	"pinion/packaging/atomicfile"
)

// maxGone bounds the GPUs that are remembered and that this host does not have.
const maxGone = 64

// condition is the sick state of a GPU, and why.
type condition struct {
	Health    gpu.Health `json:"health"`
	Problem   string     `json:"problem"` // for people
	Since     time.Time  `json:"since"`
	Boot      string     `json:"boot"`                // id of the boot in which it began
	EndsTasks bool       `json:"endsTasks,omitempty"` // what computes on the GPU is lost
	Reset     bool       `json:"reset,omitempty"`     // the GPU was reset since

	fromEvent   bool      // an event told of it: the driver's own record may say so later
	inInventory bool      // the source says so too
	failed      int       // checks that did not pass
	lastCheck   time.Time // zero: none
	result      string    // what the last check has found
	checkState
}

// checkState is what is asked for and done about a GPU. It stays when another condition takes the place of the one that is known.
type checkState struct {
	checkRequested bool // an operator asks for a check that has not begun
	resetRequested bool // and for a reset before it
	checking       bool // a check is under way
	answers        bool // it is the one that an operator has asked for
	outdated       bool // since it began there was another fault, of which it says nothing
}

// Record is the health of this host's GPUs. It is safe for concurrent use.
type Record struct {
	path string
	boot string
	log  *slog.Logger

	mu        sync.Mutex
	known     *inventoryFile
	present   map[string]bool             // UUIDs of the GPUs that this host has
	sick      map[string]*condition       // by UUID
	failures  map[string][]failure        // by UUID: tasks that failed one after the other
	requested map[string]gpu.CheckOutcome // by UUID: of checks that operators have asked for last
	watchers  map[string][]chan<- error   // by UUID: of tasks that end when the GPU is lost
	slow      map[string]*slowGPU         // by UUID: that slow themselves down
	hung      map[string]time.Time        // by UUID: since when the driver does not answer about it
	lastXid   map[string]uint64           // by UUID, since the agent was started; of GPUs that are present
	changed   chan struct{}               // closed and replaced at a change
}

// Config has the parameters of Open.
type Config struct {
	Dir    string // that keeps the record: gpu-health.json, and gpus.json with the GPUs that this host has or had
	Boot   string // id of the machine's boot
	Source string // what `pinion up --gpus` says: with another one than before no GPU is missed
	Log    *slog.Logger
}

// Open reads the record that a directory keeps.
func Open(c Config) (*Record, error) {
	known, err := openInventory(filepath.Join(c.Dir, "gpus.json"), c.Source, c.Log)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(c.Dir, "gpu-health.json")
	r := &Record{
		path: path, boot: c.Boot, log: c.Log, known: known, present: map[string]bool{}, sick: map[string]*condition{}, failures: map[string][]failure{}, requested: map[string]gpu.CheckOutcome{}, watchers: map[string][]chan<- error{}, slow: map[string]*slowGPU{}, hung: map[string]time.Time{}, lastXid: map[string]uint64{}, changed: make(chan struct{}),
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &r.sick)
	}
	if err != nil {
		return nil, fmt.Errorf("health of this host's GPUs: %s: %w: if it is damaged, remove it; GPUs that were sick are then given to tasks without a check", path, err)
	}
	return r, nil
}

// Changed is closed at the next change: of what is wrong with a GPU, or of when it is to be checked.
func (r *Record) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// AddFault records an error that the driver has told of. all are the host's devices: an error of a GPU is one of its MIG devices, and one that names
// no GPU one of all.
func (r *Record) AddFault(f gpu.Fault, all []gpu.Device, now time.Time) {
	if f.Xid == 0 { // the inventory says more
		r.log.Warn("the driver reports a problem of a GPU", "gpu", f.UUID, "problem", f.Text)
		return
	}
	what := xid.Lookup(f.Xid)
	r.log.Warn("the driver reports an error of a GPU", "gpu", f.UUID, "error", what, "health", what.Health)
	text := fmt.Sprintf("%s, at %s", what, now.UTC().Format(time.RFC3339))
	if action := what.Health.RecoveryAction(); action != "" {
		text += ": " + action
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, uuid := range devicesOf(all, f.UUID) {
		r.lastXid[uuid] = f.Xid
		if what.Health != gpu.Healthy {
			r.add(uuid, condition{Health: what.Health, Problem: text, Since: now, EndsTasks: what.EndsTasks, fromEvent: true})
		}
		if what.EndsTasks {
			r.end(uuid, text)
		}
	}
}

// devicesOf are the UUIDs of a GPU, or of its MIG devices; of all without a UUID.
func devicesOf(devices []gpu.Device, uuid string) (uuids []string) {
	for i := range devices {
		if uuid == "" || devices[i].IsOf(uuid) {
			uuids = append(uuids, devices[i].UUID)
		}
	}
	if len(uuids) == 0 && uuid != "" {
		uuids = []string{uuid} // the inventory may be older than the GPU
	}
	return uuids
}

// forgetGone forgets the oldest of the GPUs that this host does not have, when they are too many. Called with the lock held.
func (r *Record) forgetGone() {
	var gone []string
	for uuid := range r.sick {
		if !r.present[uuid] {
			gone = append(gone, uuid)
		}
	}
	slices.SortFunc(gone, func(a, b string) int { return r.sick[a].Since.Compare(r.sick[b].Since) })
	for _, uuid := range gone[:max(0, len(gone)-maxGone)] {
		delete(r.sick, uuid)
	}
}

// severity orders states: a GPU is in the worst one that is known of it.
var severity = []gpu.Health{gpu.Suspect, gpu.NeedsReset, gpu.NeedsReboot, gpu.Lost, gpu.Replace}

// add records a condition, unless a worse one is known. What operators have asked for stays asked for. Called with the lock held.
func (r *Record) add(uuid string, c condition) {
	c.Boot = r.boot
	old := r.sick[uuid]
	if old != nil && slices.Index(severity, old.Health) > slices.Index(severity, c.Health) {
		old.fromEvent, old.Reset, old.lastCheck, old.outdated = old.fromEvent || c.fromEvent, false, time.Time{}, old.checking
		return
	}
	if old != nil {
		c.inInventory = c.inInventory || old.inInventory
		c.checkState = old.checkState
		c.outdated = c.checking
	}
	r.sick[uuid] = &c
	r.forgetGone()
	r.save()
	r.wake()
}

// end ends the tasks of a GPU that are watched. Called with the lock held.
func (r *Record) end(uuid, problem string) {
	for _, lost := range r.watchers[uuid] {
		select {
		case lost <- fmt.Errorf("GPU %s: %s", uuid, problem):
		default: // it knows of another of its GPUs
		}
	}
}

func (r *Record) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// save writes the file. One that cannot be written is said and not more: what is known counts as long as this process lives.
func (r *Record) save() {
	if err := writeJSON(r.path, r.sick); err != nil {
		r.log.Error("the health of this host's GPUs is not kept over a restart", "error", err)
	}
}

func writeJSON(path string, v any) error {
	content, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(content, '\n'), 0o600)
}

// Watch returns why a task with the GPUs has to end, as soon as it has to; nil when ctx ends before.
func (r *Record) Watch(ctx context.Context, uuids []string) error {
	lost := make(chan error, 1)
	if why := r.watch(uuids, lost); why != nil {
		return why
	}
	defer r.unwatch(uuids, lost)
	select {
	case why := <-lost:
		return why
	case <-ctx.Done():
		return nil
	}
}

func (r *Record) watch(uuids []string, lost chan<- error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, uuid := range uuids {
		if c := r.sick[uuid]; c != nil && c.EndsTasks {
			return fmt.Errorf("GPU %s: %s", uuid, c.Problem)
		}
		if known := r.known.GPUs[uuid]; known != nil && known.lost != "" {
			return fmt.Errorf("GPU %s: %s", uuid, known.lost)
		}
	}
	for _, uuid := range uuids {
		r.watchers[uuid] = append(r.watchers[uuid], lost)
	}
	return nil
}

func (r *Record) unwatch(uuids []string, lost chan<- error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, uuid := range uuids {
		r.watchers[uuid] = slices.DeleteFunc(r.watchers[uuid], func(w chan<- error) bool { return w == lost })
		if len(r.watchers[uuid]) == 0 {
			delete(r.watchers, uuid)
		}
	}
}
