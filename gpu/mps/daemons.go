package mps

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pinion/gpu"
)

const (
	// watchInterval is the time between two looks at the servers of a shared GPU, probeInterval between two probes of its daemon.
	watchInterval = 500 * time.Millisecond
	probeInterval = 5 * time.Second
	// maxLog bounds each log file of a daemon: a longer one is emptied.
	maxLog = 8 << 20
	// limitFile holds the greatest share of the GPU, in MiB, since its daemon was started.
	limitFile = "limit-mib"
	// maxSocketPath bounds the path of a socket (unix(7)), of which longestSocket has the longest in the directory of the pipes.
	maxSocketPath = 107
	longestSocket = "control_privileged"
)

// Daemons are the control daemons of a host's shared GPUs, one for each. They outlive this process, and another one finds them by their
// directories.
type Daemons struct {
	config Config

	mu     sync.Mutex
	shared map[string]*state // by UUID
}

// Config has the dependencies of Daemons. All of it is required.
type Config struct {
	Program string // path of nvidia-cuda-mps-control
	Dir     string // where each shared GPU has a directory with its UUID as name
	Source  gpu.Source
	Modes   gpu.ComputeModes
	Log     *slog.Logger
}

// state is the sharing of one GPU: its daemon, its servers, and why it has failed.
type state struct {
	Control
	uuid string

	mu      sync.Mutex
	servers []int     // of its daemon, when it was looked at last
	probed  time.Time // when the daemon last said that it serves
	failed  error     // why the GPU cannot be shared until End
}

var _ gpu.Sharer = (*Daemons)(nil)

// NewDaemons returns the daemons of a host. It starts and ends none.
func NewDaemons(c Config) *Daemons {
	return &Daemons{config: c, shared: map[string]*state{}}
}

func (d *Daemons) of(uuid string) *state {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.shared[uuid]
	if s == nil {
		s = &state{uuid: uuid, Control: Control{Program: d.config.Program, Dir: filepath.Join(d.config.Dir, uuid)}}
		d.shared[uuid] = s
	}
	return s
}

// Share is of gpu.Sharer. It starts the GPU's daemon unless one runs, and asks it whether it serves. The daemon keeps every client to the
// greatest share of the GPU, whatever the client's own limit says.
func (d *Daemons) Share(ctx context.Context, uuid string, mib int64) (pipes string, err error) {
	s := d.of(uuid)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return "", fmt.Errorf("GPU %s is not shared until the containers that have shares of it have ended: %w", uuid, s.failed)
	}
	if s.daemonPID() == 0 {
		if _, err := os.Stat(s.Dir); err == nil {
			return "", s.fail(d.config.Log, errors.New("the control daemon has ended"))
		}
		if err := d.begin(ctx, s); err != nil {
			return "", errors.Join(fmt.Errorf("MPS of GPU %s: %w", uuid, err), d.end(ctx, s))
		}
	}
	err = s.WaitServing(ctx)
	if err == nil {
		err = s.raiseLimit(ctx, mib)
	}
	if err != nil {
		return "", fmt.Errorf("MPS of GPU %s: %w", uuid, err)
	}
	return s.PipeDir(), nil
}

// begin has the GPU to itself and starts its daemon. The directory is there before anything else, for End.
func (d *Daemons) begin(ctx context.Context, s *state) error {
	if path := filepath.Join(s.PipeDir(), longestSocket); len(path) > maxSocketPath {
		return fmt.Errorf("the path %s is longer than the %d bytes that a socket's may have: use a data directory with a shorter path", path, maxSocketPath)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil { // nobody but root reaches the pipes by their path
		return err
	}
	if err := d.config.Modes.SetExclusive(ctx, s.uuid, true); err != nil {
		return err
	}
	if err := s.start(ctx, s.uuid); err != nil {
		return err
	}
	d.config.Log.Info("a GPU is shared from now on", "gpu", s.uuid)
	return nil
}

// raiseLimit raises the limit of all clients that start from now on to that of a share, if it is lower. The daemon's own limit counts for the
// servers that it starts, so those that run are told too.
func (s *state) raiseLimit(ctx context.Context, mib int64) error {
	path := filepath.Join(s.Dir, limitFile)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if limit, err := strconv.ParseInt(string(text), 10, 64); err == nil && limit >= mib {
		return nil
	}
	commands := []string{fmt.Sprintf("set_default_device_pinned_mem_limit 0 %dM", mib)}
	running, err := s.Do(ctx, "get_server_list")
	if err != nil {
		return err
	}
	for _, pid := range strings.Fields(running) {
		if _, err := strconv.Atoi(pid); err == nil {
			commands = append(commands, fmt.Sprintf("set_device_pinned_mem_limit %s 0 %dM", pid, mib))
		}
	}
	for _, command := range commands {
		if answer, err := s.Do(ctx, command); err != nil {
			return err
		} else if answer != "" {
			return fmt.Errorf("%s was answered with %.100q", command, answer)
		}
	}
	if err := os.WriteFile(path+".new", strconv.AppendInt(nil, mib, 10), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Check is of gpu.Sharer.
func (d *Daemons) Check(uuid string) error {
	s := d.of(uuid)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && s.daemonPID() == 0 {
		return s.fail(d.config.Log, errors.New("the control daemon has ended"))
	}
	return s.failed
}

// Watch is of gpu.Sharer. A server that ends has taken its clients with it, so do a daemon that ends and one that does not answer.
func (d *Daemons) Watch(ctx context.Context, uuid string) error {
	s := d.of(uuid)
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		if err := s.check(ctx, d.config.Log); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// check looks once whether the containers of the GPU can use it still.
func (s *state) check(ctx context.Context, log *slog.Logger) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	daemon := s.daemonPID()
	if daemon == 0 {
		return s.fail(log, errors.New("the control daemon has ended"))
	}
	found, err := servers(daemon)
	if err != nil {
		return s.fail(log, err)
	}
	for _, pid := range s.servers {
		if !slices.Contains(found, pid) {
			return s.fail(log, fmt.Errorf("the MPS server, process %d, has ended", pid))
		}
	}
	s.servers = found
	if time.Since(s.probed) < probeInterval {
		return nil
	}
	s.trimLogs(log)
	if err := s.WaitServing(ctx); err != nil && ctx.Err() == nil {
		return s.fail(log, err)
	}
	s.probed = time.Now()
	return nil
}

// fail records why the GPU is shared no more.
func (s *state) fail(log *slog.Logger, why error) error {
	log.Error("the sharing of a GPU has failed: its containers are ended", "gpu", s.uuid, "reason", why)
	s.failed = why
	return why
}

// trimLogs empties the logs of the daemon that have become too long.
func (s *state) trimLogs(log *slog.Logger) {
	files, _ := filepath.Glob(filepath.Join(s.logDir(), "*"))
	for _, path := range files {
		if info, err := os.Stat(path); err != nil || info.Size() <= maxLog {
			continue
		}
		if err := os.Truncate(path, 0); err != nil {
			log.Warn("a log of MPS cannot be emptied", "file", path, "error", err)
		}
	}
}

// End is of gpu.Sharer: it ends the daemon and sets the compute mode to DEFAULT.
func (d *Daemons) End(ctx context.Context, uuid string) error {
	s := d.of(uuid)
	s.mu.Lock()
	defer s.mu.Unlock()
	return d.end(ctx, s)
}

func (d *Daemons) end(ctx context.Context, s *state) error {
	if _, err := os.Stat(s.Dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	err := s.stop(ctx)
	if err == nil {
		err = d.config.Modes.SetExclusive(ctx, s.uuid, false)
	}
	if err != nil && !d.lacks(ctx, s.uuid) {
		return fmt.Errorf("ending the sharing of GPU %s: %w", s.uuid, err)
	}
	if err := os.RemoveAll(s.Dir); err != nil {
		return err
	}
	s.servers, s.probed, s.failed = nil, time.Time{}, nil
	d.config.Log.Info("a GPU is shared no more", "gpu", s.uuid)
	return nil
}

// lacks reports whether the GPU has left this host: it has no mode then.
func (d *Daemons) lacks(ctx context.Context, uuid string) bool {
	inventory, err := d.config.Source.Inventory(ctx)
	return err == nil && inventory.Lacks(uuid)
}

// EndOthers is of gpu.Sharer.
func (d *Daemons) EndOthers(ctx context.Context, uuids []string) error {
	entries, err := os.ReadDir(d.config.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if !slices.Contains(uuids, entry.Name()) {
			err = errors.Join(err, d.End(ctx, entry.Name()))
		}
	}
	return err
}
