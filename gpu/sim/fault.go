package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pinion/gpu"
)

// maxFaults bounds the errors that wait to be taken.
const maxFaults = 256

// WriteFault has the simulated machine in the directory tell of an Xid of its GPU, once, as a driver does. The GPU is none the worse for it.
func WriteFault(dir string, index int, code uint64) error {
	events := filepath.Join(dir, "events")
	if err := os.MkdirAll(events, 0o755); err != nil {
		return fmt.Errorf("simulated GPUs: %w", err)
	}
	file, err := os.CreateTemp(events, ".new-*")
	if err != nil {
		return fmt.Errorf("simulated GPUs: %w", err)
	}
	_, err = fmt.Fprintf(file, "%d %d\n", index, code)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("simulated GPUs: %w", err)
	}
	return os.Rename(file.Name(), filepath.Join(events, strings.TrimPrefix(filepath.Base(file.Name()), ".new-")))
}

// Break breaks a GPU of the simulated machine in the directory, until Mend. The reason is for people; one that begins with "Xid N" breaks it as that
// error does.
func Break(dir string, index int, reason string) error {
	return writeFault(dir, brokenDir, index, reason)
}

// SetNVLinksDown has so many NVLinks of a GPU of the simulated machine in the directory be down, until Mend.
func SetNVLinksDown(dir string, index int, down string) error {
	return setFault(dir, nvlinkDir, index, down)
}

// SetFabricState has the NVLink fabric of a GPU of the simulated machine in the directory be in one of gpu.FabricStates, until Mend.
func SetFabricState(dir string, index int, state string) error {
	return setFault(dir, fabricDir, index, state)
}

// SetSlowdown has a GPU of the simulated machine in the directory slow itself down for one of gpu.Slowdowns, until Mend.
func SetSlowdown(dir string, index int, reason string) error {
	if !slices.Contains(gpu.Slowdowns(), gpu.Slowdown(reason)) {
		return fmt.Errorf("%q is no reason for which a GPU slows itself down: it is %s or %s", reason, gpu.SlowThermal, gpu.SlowPower)
	}
	return writeFault(dir, slowDir, index, reason)
}

// setFault is writeFault of a text that the GPU can have.
func setFault(dir, kind string, index int, text string) error {
	m, err := modelAt(dir, index)
	if err != nil {
		return err
	}
	if _, err := findingOf(kind, text, m); err != nil {
		return err
	}
	return writeFault(dir, kind, index, text)
}

// writeFault writes the file that says what is wrong with a GPU.
func writeFault(dir, kind string, index int, text string) error {
	return writeFile(faultFile(dir, kind, index), text)
}

func writeFile(path, text string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		return fmt.Errorf("simulated GPUs: %w", err)
	}
	return nil
}

func faultFile(dir, kind string, index int) string {
	return filepath.Join(dir, kind, strconv.Itoa(index))
}

// Mend mends whatever is wrong with a GPU of the simulated machine in the directory. Nil when nothing was.
func Mend(dir string, index int) (err error) {
	for _, kind := range append(slices.Clone(faultDirs), slowDir, hungDir) {
		err = errors.Join(err, remove(faultFile(dir, kind, index)))
	}
	return err
}

// remove removes a file. Nil when it was not there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("simulated GPUs: %w", err)
	}
	return nil
}

// Unplug takes a GPU out of the simulated machine in the directory, until Plug.
func Unplug(dir string, index int) error {
	path := unplugged(dir, index)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, nil, 0o644)
	}
	if err != nil {
		return fmt.Errorf("simulated GPUs: %w", err)
	}
	return nil
}

// Plug puts a GPU back. Nil when it was there.
func Plug(dir string, index int) error { return remove(unplugged(dir, index)) }

func unplugged(dir string, index int) string {
	return filepath.Join(dir, "unplugged", strconv.Itoa(index))
}

// plugged are the devices that are in the machine.
func (s *source) plugged(all []gpu.Device) []gpu.Device {
	return slices.DeleteFunc(slices.Clone(all), func(d gpu.Device) bool { return s.isUnplugged(d.Index) })
}

func (s *source) isUnplugged(index int) bool {
	_, err := os.Stat(unplugged(s.Dir, index))
	return err == nil
}

// readFaults takes the errors that were written.
func (s *source) readFaults() (faults []gpu.Fault) {
	events := filepath.Join(s.Dir, "events")
	entries, err := os.ReadDir(events)
	if err != nil {
		return nil // none was written yet
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		path := filepath.Join(events, entry.Name())
		content, err := os.ReadFile(path)
		if os.Remove(path) != nil || err != nil {
			continue // somebody else has it
		}
		var index int
		var code uint64
		if _, err := fmt.Sscan(string(content), &index, &code); err == nil && index >= 0 && index < len(s.cards) {
			faults = append(faults, gpu.Fault{UUID: s.cards[index].UUID, Xid: code})
		}
	}
	return faults
}

// addFaults keeps errors until they are taken.
func (s *source) addFaults(faults []gpu.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults[:min(len(faults), maxFaults-len(s.faults))]...)
}

// Faults is of gpu.FaultSource.
func (s *source) Faults() []gpu.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	faults := s.faults
	s.faults = nil
	return faults
}

// Check is of gpu.Checker: a device works when nothing is wrong with its GPU.
func (s *source) Check(ctx context.Context, uuid string, _ bool) error {
	if err := s.await(ctx, uuid); err != nil {
		return err
	}
	_, found, err := s.findingOf(uuid)
	if err == nil && found.Problem != "" {
		err = errors.New(found.Problem)
	}
	return err
}

// Reset is of gpu.Resetter: it mends a GPU that needs a reset.
func (s *source) Reset(ctx context.Context, uuid string) error {
	if err := s.await(ctx, uuid); err != nil {
		return err
	}
	index, found, err := s.findingOf(uuid)
	if err != nil {
		return err
	}
	if found.Problem != "" && found.Health != gpu.NeedsReset {
		return fmt.Errorf("a reset does not help: %s", found.Problem)
	}
	return Mend(s.Dir, index)
}

// findingOf is what is wrong with the GPU of a device, and its index.
func (s *source) findingOf(uuid string) (index int, found gpu.Finding, err error) {
	files, err := readFaultFiles(s.Dir, len(s.cards))
	if err != nil {
		return 0, found, err
	}
	device, _, err := s.find(uuid)
	if err != nil {
		return 0, found, err
	}
	return device.Index, files.finding(device.Index, &groupAt(s.groups, device.Index).model), nil
}

// find is the device with the UUID, and its node.
func (s *source) find(uuid string) (gpu.Device, node, error) {
	m := s.machine.Load()
	for i, d := range m.devices {
		if d.UUID == uuid {
			return d, m.nodes.devices[i], nil
		}
	}
	return gpu.Device{}, node{}, fmt.Errorf("this host has no simulated GPU %s", uuid)
}

// SetUtilization sets for how much of the time a GPU of the simulated machine in the directory computes: a percentage, "85", or a curve that
// repeats, "0s:10,30s:95,60s:10".
func SetUtilization(dir string, index int, load string) error {
	if _, err := parseLoad(load); err != nil {
		return err
	}
	busy := filepath.Join(dir, "utilization")
	if err := os.MkdirAll(busy, 0o755); err != nil {
		return fmt.Errorf("simulated GPUs: %w", err)
	}
	if err := os.WriteFile(filepath.Join(busy, strconv.Itoa(index)), []byte(load), 0o644); err != nil {
		return fmt.Errorf("simulated GPUs: %w", err)
	}
	return nil
}

// Has reports whether the simulated machine in the directory has a GPU with the index.
func Has(dir string, index int) bool {
	_, err := os.Stat(filepath.Join(dir, "dev", "nvidia"+strconv.Itoa(index)))
	return err == nil
}
