package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pinion/gpu"
)

// hungDir has a file for each GPU about which the driver does not answer, and hungDriver when it answers nothing at all.
const (
	hungDir    = "hung"
	hungDriver = "driver"
)

// Hang has the driver of the simulated machine in the directory not answer about a GPU, until Mend.
func Hang(dir string, index int) error { return writeFault(dir, hungDir, index, "") }

// HangDriver has the driver of the simulated machine in the directory answer nothing; false: it does again.
func HangDriver(dir string, hang bool) error {
	path := filepath.Join(dir, hungDir, hungDriver)
	if !hang {
		return remove(path)
	}
	return writeFile(path, "")
}

// hung are the GPUs about which the driver does not answer, by index; all reports whether it answers nothing.
func (s *source) hung() (gpus map[int]string, all bool, err error) {
	gpus, err = readIndexed(filepath.Join(s.Dir, hungDir), len(s.cards))
	if err != nil {
		return nil, false, fmt.Errorf("health of the simulated GPUs: %w", err)
	}
	_, err = os.Stat(filepath.Join(s.Dir, hungDir, hungDriver))
	return gpus, err == nil, nil
}

// await waits as a call to the driver about a device does, or without a UUID about all: until the driver answers. Its error is that of ctx, unless the files
// cannot be read.
func (s *source) await(ctx context.Context, uuid string) error {
	for {
		gpus, hangs, err := s.hung()
		if err != nil {
			return err
		}
		if device, _, err := s.find(uuid); err == nil && !hangs {
			_, hangs = gpus[device.Index]
		}
		if !hangs {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the simulated driver does not answer: %w", ctx.Err())
		case <-time.After(healthInterval):
		}
	}
}

// withHung marks the devices about which the driver does not answer: it is known of them that they are there.
func withHung(devices []gpu.Device, hung map[int]string) []gpu.Device {
	for i := range devices {
		if d := &devices[i]; has(hung, d.Index) {
			d.Health, d.Problem = gpu.Hung, "the simulated driver does not answer about it"
		}
	}
	return devices
}

func has(files map[int]string, index int) bool {
	_, ok := files[index]
	return ok
}
