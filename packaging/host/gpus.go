package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"

	"pinion/gpu"
	"pinion/gpu/mps"
	"pinion/gpu/nvml"
	"pinion/gpu/sim"
	"pinion/node/gpuhealth"
	"pinion/node/gpuusage"
	"pinion/node/machine"
)

// devices are the GPUs that a host offers.
type devices struct {
	source gpu.Source
	sharer gpu.Sharer // nil with --gpus none
	health *gpuhealth.Record
	usage  *gpuusage.Record

	dir    string // the data directory
	self   string // path of this binary
	helper string // path of the program that speaks to the driver
	log    *slog.Logger
}

func newDevices(h *host) *devices {
	return &devices{dir: h.dir.Path, self: h.self, helper: h.tools.NVML, log: h.log}
}

func (h *host) openGPUs(context.Context) error {
	h.gpus = newDevices(h)
	if err := h.gpus.open(h.config.GPUs.Source); err != nil {
		return err
	}
	h.onClose(h.gpus.source.Close)
	h.gpus.usage = gpuusage.New(h.log)
	var err error
	h.gpus.health, err = gpuhealth.Open(gpuhealth.Config{Dir: h.dir.Path, Boot: machine.Boot().ID, Source: strings.TrimSuffix(h.config.GPUs.Source, ","+gpu.EnforcedByMPS), Log: h.log})
	return err
}

// open opens what the option --gpus says. It never chooses the simulator unless that names it.
func (d *devices) open(option string) error {
	source, model, _ := strings.Cut(option, ":")
	source, shares := strings.CutSuffix(source, ","+gpu.EnforcedByMPS)
	switch source {
	case "sim":
		return d.openSimulator(model)
	case "none":
		d.source = gpu.None()
		return nil
	}
	return d.openDriver(shares)
}

// openDriver opens the GPUs of the NVIDIA driver. There is a sharer also where GPUs are not offered for sharing: containers of an earlier
// process may share some.
func (d *devices) openDriver(shares bool) error {
	program, err := exec.LookPath(sim.MPSProgram)
	if shares && err != nil {
		return fmt.Errorf("--gpus auto,mps: %w: install the part of the NVIDIA driver that has it (package nvidia-cuda-mps or nvidia-compute-utils), or use --gpus auto", err)
	}
	source := nvml.Open(d.helper, shares, d.log)
	d.source, d.sharer = source, d.driverDaemons(program, source)
	return nil
}

func (d *devices) openSimulator(model string) (err error) {
	dir := d.simulator()
	if d.source, err = sim.Open(model, dir, d.self); err != nil {
		return err
	}
	if _, err = sim.LinkMPSControl(dir, d.self); err != nil {
		return errors.Join(err, d.source.Close())
	}
	d.sharer = d.simulatedDaemons(d.source)
	if strings.HasSuffix(model, ","+gpu.EnforcedByMPS) {
		d.log.Warn("tasks may share the simulated GPUs of this host, and NOTHING keeps them to their memory")
	}
	return nil
}

// simulator is the directory of the simulator.
func (d *devices) simulator() string { return filepath.Join(d.dir, "sim") }

// driverDaemons share GPUs of the NVIDIA driver.
func (d *devices) driverDaemons(program string, source *nvml.Source) gpu.Sharer {
	return mps.NewDaemons(mps.Config{Program: program, Dir: filepath.Join(d.dir, "mps"), Source: source, Modes: source, Log: d.log})
}

// simulatedDaemons share simulated GPUs.
func (d *devices) simulatedDaemons(source gpu.Source) gpu.Sharer {
	dir := d.simulator()
	return mps.NewDaemons(mps.Config{Program: filepath.Join(dir, sim.MPSProgram), Dir: filepath.Join(dir, "mps"), Source: source, Modes: sim.ComputeModes{Dir: dir}, Log: d.log})
}

// endSharing makes every GPU that containers of the data directory shared one as any other. The containers are gone.
func (d *devices) endSharing(ctx context.Context) error {
	program, _ := exec.LookPath(sim.MPSProgram) // without it daemons are killed
	source := nvml.Open(d.helper, false, d.log)
	driver, simulator := d.driverDaemons(program, source), d.simulatedDaemons(gpu.None())
	return errors.Join(driver.EndOthers(ctx, nil), simulator.EndOthers(ctx, nil), source.Close())
}
