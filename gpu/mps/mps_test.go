package mps

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/gpu"
)

// standIn is a program that behaves as NVIDIA's control does towards its callers, as far as the package relies on it, and shares no GPU. As a
// daemon it says what it sees, starts a server and waits for a word over a pipe; as the utility it answers, refuses or hangs by the file "mode".
const standIn = `#!/bin/sh
cd "$CUDA_MPS_PIPE_DIRECTORY" || exit 2
mode=$(cat ../mode 2>/dev/null)
if [ "$1" = -f ]; then
	[ "$mode" = broken ] && exit 3
	[ "$mode" = old ] && { echo "Cannot find MPS control daemon process"; exit 1; }
	env > ../daemon-env
	mkfifo control
	[ "$mode" = lonely ] || { sleep 1000 & echo $! > ../server; }
	echo $$ > nvidia-cuda-mps-control.pid
	read word < control
	[ "$word" = quit ] && kill $!
	exit 0
fi
read command
echo "$command" >> ../commands
[ "$mode" = hangs ] && exec sleep 1000
[ -p control ] || { echo "Cannot find MPS control daemon process"; exit 1; }
case "$mode.$command" in
odd.*) echo "Unknown command" ;;
*.get_server_list) cat ../server ;;
*.get_default_active_thread_percentage) echo 100.0 ;;
*.quit) echo quit > control ;;
esac
`

// machine is a host with one GPU, whose directories outlive its Daemons.
type machine struct {
	gpu.Source
	dir, program string
	modes        []string // every change of the compute mode
	err          error    // of such a change
	gone         bool     // the GPU has left the machine
}

const uuid = "GPU-1"

func newMachine(t *testing.T) *machine {
	t.Helper()
	dir := t.TempDir()
	m := &machine{dir: filepath.Join(dir, "mps"), program: filepath.Join(dir, "nvidia-cuda-mps-control")}
	write(t, m.program, standIn, 0o755)
	t.Cleanup(func() { _ = m.daemons().End(context.WithoutCancel(t.Context()), uuid) })
	return m
}

func (m *machine) SetExclusive(_ context.Context, uuid string, exclusive bool) error {
	if m.err != nil {
		return m.err
	}
	m.modes = append(m.modes, uuid+map[bool]string{true: " exclusive", false: " default"}[exclusive])
	return nil
}

func (m *machine) Inventory(context.Context) (gpu.Inventory, error) {
	if m.gone {
		return gpu.Inventory{}, nil
	}
	return gpu.Inventory{Devices: []gpu.Device{{UUID: uuid}}}, nil
}

// daemons are the daemons that a new process of the agent finds.
func (m *machine) daemons() *Daemons {
	return NewDaemons(Config{Program: m.program, Dir: m.dir, Source: m, Modes: m, Log: slog.New(slog.DiscardHandler)})
}

// share shares the GPU in a mode of the stand-in.
func (m *machine) share(t *testing.T, mode string) (*Daemons, error) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(m.dir, uuid), 0o755); err != nil {
		t.Fatal(err)
	}
	m.setMode(t, mode)
	d := m.daemons()
	if mode == "hangs" {
		d.of(uuid).Timeout = 50 * time.Millisecond
	}
	if d.of(uuid).daemonPID() == 0 {
		if err := m.begin(d, t); err != nil {
			return d, err
		}
	}
	_, err := d.Share(t.Context(), uuid, 300)
	return d, err
}

// begin begins to share as Share does on a machine without a directory of the GPU, which the tests need for the mode.
func (m *machine) begin(d *Daemons, t *testing.T) error {
	s := d.of(uuid)
	if err := d.begin(t.Context(), s); err != nil {
		return errors.Join(err, d.end(t.Context(), s))
	}
	return nil
}

func (m *machine) setMode(t *testing.T, mode string) { m.write(t, "mode", mode) }

func (m *machine) write(t *testing.T, name, text string) {
	t.Helper()
	write(t, filepath.Join(m.dir, uuid, name), text, 0o644)
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// read is the words of a file of the GPU's.
func (m *machine) read(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, uuid, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// wantNothingLeft checks that the GPU is one as any other.
func (m *machine) wantNothingLeft(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(m.dir, uuid)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of the GPU: %v", err)
	}
	if len(m.modes) == 0 || m.modes[len(m.modes)-1] != uuid+" default" {
		t.Errorf("the compute modes were %v", m.modes)
	}
}
