// Package sim is a machine with GPUs that are not there: real names, sizes and wiring, real device nodes that the
// kernel refuses to open, a CDI specification, and an nvidia-smi that says SIMULATED. It is chosen by hand alone
// (`pinion up --gpus sim:8xh100`), and its inventory always says Simulated.
package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pinion/gpu"
)

// healthInterval is how often the files that break GPUs are looked at.
const healthInterval = time.Second

// source is the simulated machine. Everything but health is fixed when it opens.
type source struct {
	model   model
	devices []gpu.Device // all of them well
	nodes   []node       // of the devices in their order, then the shared ones
	broken  string       // directory of health, see readBroken
	spec    []byte
	changed chan struct{}
	stop    context.CancelFunc
	done    chan struct{}
}

var _ gpu.Source = (*source)(nil)

// Open simulates the machine that spec asks for, "8xh100". It keeps its seed, its device nodes (dir/dev) and its
// health (dir/broken/INDEX holds why that GPU is broken) under dir, so that a restart finds the same GPUs and two
// hosts have different ones. self is the absolute path of the pinion binary, which containers get as nvidia-smi; when
// it is empty they get none. It takes root. The device nodes outlive Close, as containers do.
func Open(spec, dir string, self string) (gpu.Source, error) {
	m, count, err := parse(spec)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("simulated GPUs: %w", err)
	}
	if err := checkSelf(self); err != nil {
		return nil, err
	}
	s := &source{model: m, broken: filepath.Join(dir, "broken"), changed: make(chan struct{}, 1), done: make(chan struct{})}
	if err := s.createFiles(dir, count, self); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.watchHealth(ctx, s.health()) // as of now: a change after Open is never missed
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

// createFiles makes what the machine has on disk.
func (s *source) createFiles(dir string, count int, self string) error {
	if err := os.MkdirAll(s.broken, 0o755); err != nil {
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
	dev := filepath.Join(dir, "dev")
	major, err := freeMajor(dev, string(claimed))
	if err != nil {
		return err
	}
	s.devices, s.nodes = newDevices(s.model, count, seed), deviceNodes(dev, major, count)
	if err := makeNodes(dev, s.nodes); err != nil {
		return err
	}
	s.spec, err = newCDISpec(s.model, s.devices, s.nodes, self)
	return err
}

// Inventory returns the machine with its health of now.
func (s *source) Inventory(context.Context) (gpu.Inventory, error) {
	broken, err := readBroken(s.broken, len(s.devices))
	if err != nil {
		return gpu.Inventory{}, err
	}
	return gpu.Inventory{
		Devices:   withHealth(s.devices, broken),
		Driver:    s.model.driver,
		CUDA:      s.model.cuda,
		Simulated: true,
	}, nil
}

func (s *source) Changed() <-chan struct{} { return s.changed }

func (s *source) CDI(context.Context) (string, []byte, error) { return Kind, s.spec, nil }

// Processes finds whoever holds the device node open. No driver answers there, so that nobody can but with O_PATH,
// which is how tests occupy a GPU.
func (s *source) Processes(ctx context.Context, uuid string) ([]int, error) {
	for i, d := range s.devices {
		if d.UUID == uuid {
			return openers(ctx, "/proc", s.nodes[i].number())
		}
	}
	return nil, fmt.Errorf("this host has no simulated GPU %s", uuid)
}

func (s *source) Close() error {
	s.stop()
	<-s.done
	return nil
}

// watchHealth says so on changed when a GPU broke or mended since last, or when its health cannot be read any more.
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
		if now := s.health(); now != last {
			last = now
			select {
			case s.changed <- struct{}{}:
			default: // the receiver has yet to look; it will see this too
			}
		}
	}
}

// health is the state of all devices in a form that can be compared.
func (s *source) health() string {
	broken, err := readBroken(s.broken, len(s.devices))
	return fmt.Sprint(broken, err)
}
