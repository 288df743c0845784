// Package sim simulates a machine with GPUs: real names, sizes and links, device nodes that the kernel refuses to open, a
// CDI specification, and an nvidia-smi that prints SIMULATED. Only the option `pinion up --gpus sim:8xh100` selects it, and
// its inventory always has Simulated set.
package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pinion/gpu"
)

// healthInterval is the interval at which the files that break GPUs are polled.
const healthInterval = 200 * time.Millisecond

// source is the simulated machine. Everything except health is fixed by Open.
type source struct {
	groups []group
	cards  []gpu.Device // its GPUs, all of them healthy
	self   string       // path of the binary that containers get as nvidia-smi
	major  int          // of the device nodes
	busy   string       // directory of utilization, see Utilization
	absent string       // file that says why there are no GPUs yet, see readAbsent
	shares bool         // it says that its GPUs can be shared, see Open
	ComputeModes
	changed chan struct{}
	stop    context.CancelFunc
	done    chan struct{}

	mu     sync.Mutex
	faults []gpu.Fault // that nobody has taken yet

	partitioning sync.Mutex
	machine      atomic.Pointer[machine]
}

// machine is the part of a source that Partition replaces. Nobody changes one that is in use.
type machine struct {
	devices []gpu.Device // GPUs or their MIG devices, all of them healthy
	nodes   machineNodes
	spec    []byte // CDI
}

var (
	_ gpu.Source       = (*source)(nil)
	_ gpu.Meter        = (*source)(nil)
	_ gpu.ComputeModes = (*source)(nil)
	_ gpu.FaultSource  = (*source)(nil)
	_ gpu.Checker      = (*source)(nil)
	_ gpu.Resetter     = (*source)(nil)
	_ gpu.Partitioner  = (*source)(nil)
)

// Open simulates the machine that spec describes, "8xh100", "4xh100+2xt4" with GPUs of several models, or "1xh100/7x1g.10gb" with MIG devices. It keeps its seed, its device nodes (dir/dev) and its health
// (dir/broken/INDEX holds why that GPU is broken, dir/nvlink/INDEX how many of its NVLinks are down, dir/fabric/INDEX the state of its NVLink fabric, with dir/hung/INDEX the driver does not answer about it, with dir/hung/driver it answers nothing, with dir/unplugged/INDEX it is not listed, a file in dir/events the index and the Xid of an error to tell of, dir/absent why there are none yet) and utilization (dir/utilization/INDEX) under dir, so a restart finds the same GPUs and two hosts have different
// ones. self is the absolute path of the pinion binary, which containers get as nvidia-smi; with an empty self they get
// none. With ",mps" behind the spec the machine says that it keeps containers to shares of a GPU, so that sharing can be tried:
// nothing is there to enforce, and nothing is enforced. Open requires root. The device nodes outlive Close, because containers do.
func Open(spec, dir string, self string) (gpu.Source, error) {
	spec, shares := strings.CutSuffix(spec, ","+gpu.EnforcedByMPS)
	groups, err := parseMachine(spec)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("simulated GPUs: %w", err)
	}
	if err := checkSelf(self); err != nil {
		return nil, err
	}
	s := &source{groups: groups, shares: shares, ComputeModes: ComputeModes{Dir: dir}, busy: filepath.Join(dir, "utilization"), absent: filepath.Join(dir, "absent"), changed: make(chan struct{}, 1), done: make(chan struct{})}
	if err := s.createFiles(spec, dir, self); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.watchHealth(ctx, s.health()) // starts from the present health, so a change after Open is not missed
	return s, nil
}

func checkSelf(self string) error {
	if self == "" {
		return nil
	}
	if !filepath.IsAbs(self) {
		return fmt.Errorf("nvidia-smi of the simulated GPUs: %q is not an absolute path", self)
	}
	if _, err := os.Stat(self); err != nil {
		return fmt.Errorf("nvidia-smi of the simulated GPUs: %w", err)
	}
	return nil
}

// createFiles creates the machine's files on disk.
func (s *source) createFiles(spec, dir, self string) error {
	if err := os.MkdirAll(filepath.Join(dir, brokenDir), 0o755); err != nil {
		return fmt.Errorf("simulated GPUs: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, specFile), []byte(spec), 0o644); err != nil {
		return fmt.Errorf("simulated GPUs: %w", err)
	}
	seed, err := readSeed(dir)
	if err != nil {
		return err
	}
	claimed, err := os.ReadFile("/proc/devices")
	if err != nil {
		return fmt.Errorf("simulated GPUs: %w", err)
	}
	s.self, s.cards = self, newCards(s.groups, seed)
	if s.major, err = freeMajor(filepath.Join(dir, "dev"), string(claimed)); err != nil {
		return err
	}
	return s.assemble()
}

// assemble makes the devices of the machine as its GPUs are partitioned.
func (s *source) assemble() (err error) {
	m := &machine{}
	for i := range s.cards {
		parts, err := s.parts(i)
		if err != nil {
			return err
		}
		m.devices = append(m.devices, partitioned(&s.cards[i], parts)...)
	}
	dev := filepath.Join(s.Dir, "dev")
	m.nodes = deviceNodes(dev, s.major, s.cards, m.devices)
	if err := makeNodes(dev, m.nodes.all()); err != nil {
		return err
	}
	if m.spec, err = newCDISpec(s.groups[0].model, m.devices, m.nodes, s.self); err != nil {
		return err
	}
	s.machine.Store(m)
	return nil
}

// Inventory returns the machine with its present health.
func (s *source) Inventory(ctx context.Context) (gpu.Inventory, error) {
	if err := s.await(ctx, ""); err != nil {
		return gpu.Inventory{}, err
	}
	if why := readAbsent(s.absent); why != "" {
		return gpu.Inventory{Simulated: true, Problem: why}, nil
	}
	files, err := readFaultFiles(s.Dir, len(s.cards))
	if err != nil {
		return gpu.Inventory{}, err
	}
	hung, _, err := s.hung()
	if err != nil {
		return gpu.Inventory{}, err
	}
	inventory := gpu.Inventory{
		Devices:   s.plugged(withHung(s.withHealth(s.machine.Load().devices, files), hung)),
		Driver:    s.groups[0].driver,
		CUDA:      s.groups[0].cuda,
		Simulated: true,
	}
	if s.shares {
		inventory.VRAMEnforcement = gpu.EnforcedByMPS
	}
	return inventory, nil
}

func (s *source) Changed() <-chan struct{} { return s.changed }

func (s *source) CDI(ctx context.Context) (string, []byte, error) {
	if err := s.await(ctx, ""); err != nil {
		return "", nil, err
	}
	return Kind, s.machine.Load().spec, nil
}

// Processes lists the processes that have the device node open. No driver is behind it, so only O_PATH can open it; tests
// occupy a GPU that way.
func (s *source) Processes(ctx context.Context, uuid string) ([]int, error) {
	if why := readAbsent(s.absent); why != "" {
		return nil, errors.New(why)
	}
	if err := s.await(ctx, uuid); err != nil {
		return nil, err
	}
	_, own, err := s.find(uuid)
	if err != nil {
		return nil, err
	}
	return openers(ctx, "/proc", own.number())
}

func (s *source) Close() error {
	s.stop()
	<-s.done
	return nil
}

// watchHealth signals changed when a GPU broke or recovered since the last poll, when there are errors to take, or when its health cannot be read
// any more.
func (s *source) watchHealth(ctx context.Context, last string) {
	defer close(s.done)
	ticker := time.NewTicker(healthInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		faults := s.readFaults()
		s.addFaults(faults)
		if now := s.health(); now != last || len(faults) > 0 {
			last = now
			select {
			case s.changed <- struct{}{}:
			default: // a signal is pending; its receiver will see this change too
			}
		}
	}
}

// health returns the health of all devices in a comparable form.
func (s *source) health() string {
	files, err := readFaultFiles(s.Dir, len(s.cards))
	hung, hangs, _ := s.hung()
	return fmt.Sprint(files, err, hung, hangs, readAbsent(s.absent), len(s.plugged(s.machine.Load().devices)))
}
