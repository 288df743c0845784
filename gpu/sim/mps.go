package sim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pinion/gpu"
)

// ComputeModes are the compute modes of simulated GPUs: nothing but Dir/compute-mode/UUID holds them, and nothing is done by them.
type ComputeModes struct{ Dir string }

var _ gpu.ComputeModes = ComputeModes{}

// SetExclusive is of gpu.ComputeModes. A GPU without a file is in mode DEFAULT.
func (m ComputeModes) SetExclusive(_ context.Context, uuid string, exclusive bool) error {
	path := filepath.Join(m.Dir, "compute-mode", uuid)
	if !exclusive {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte("EXCLUSIVE_PROCESS\n"), 0o644)
}

const (
	// MPSProgram is the name of NVIDIA's program; the binary of Pinion behaves as its stand-in under that name.
	MPSProgram = "nvidia-cuda-mps-control"
	// mpsIdle bounds how long the stand-in waits for a command of a connection, and for the answer to one.
	mpsIdle = 3 * time.Second
)

// LinkMPSControl puts the stand-in of nvidia-cuda-mps-control, which is the binary self, into the directory, and returns its path.
func LinkMPSControl(dir, self string) (path string, err error) {
	path = filepath.Join(dir, MPSProgram)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("stand-in of MPS: %w", err)
	}
	if err := os.Symlink(self, path); err != nil {
		return "", fmt.Errorf("stand-in of MPS: %w", err)
	}
	return path, nil
}

// MPSControl is a stand-in of nvidia-cuda-mps-control for simulated GPUs: as daemon it has the sockets and answers the commands that Pinion
// relies on, as utility it sends one command to a daemon. It starts no server and limits nothing. It returns the exit code.
func MPSControl(args []string, in io.Reader, out io.Writer) int {
	run := func() error { return sendMPSCommand(in, out) }
	if slices.Contains(args, "-f") {
		run = serveMPS
	}
	if err := run(); err != nil {
		fmt.Fprintln(out, "SIMULATED nvidia-cuda-mps-control of Pinion:", err)
		return 1
	}
	return 0
}

// pipe is a file in the directory of the pipes.
func pipe(name string) string { return filepath.Join(os.Getenv("CUDA_MPS_PIPE_DIRECTORY"), name) }

// serveMPS is the daemon, until it is told to quit.
func serveMPS() error {
	clients, err := net.Listen("unix", pipe("control")) // nobody ever answers there
	if err != nil {
		return err
	}
	defer clients.Close()
	commands, err := net.Listen("unix", pipe("control_privileged"))
	if err != nil {
		return err
	}
	defer commands.Close()
	if err := os.WriteFile(pipe("nvidia-cuda-mps-control.pid"), fmt.Appendln(nil, os.Getpid()), 0o644); err != nil {
		return err
	}
	for quit := false; !quit; {
		conn, err := commands.Accept()
		if err != nil {
			return err
		}
		quit = answerMPS(conn)
	}
	return nil
}

// answerMPS answers one command.
func answerMPS(conn net.Conn) (quit bool) {
	defer conn.Close()
	if conn.SetDeadline(time.Now().Add(mpsIdle)) != nil {
		return false
	}
	command, err := bufio.NewReader(io.LimitReader(conn, 1<<10)).ReadString('\n')
	if err != nil {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	switch name {
	case "quit":
		return true
	case "get_default_active_thread_percentage":
		fmt.Fprintln(conn, "100.0")
	case "get_server_list", "set_default_device_pinned_mem_limit":
	default:
		fmt.Fprintf(conn, "Unknown command %q\n", name)
	}
	return false
}

// sendMPSCommand is the utility.
func sendMPSCommand(in io.Reader, out io.Writer) error {
	command, err := bufio.NewReader(io.LimitReader(in, 1<<10)).ReadString('\n')
	if err != nil {
		return err
	}
	conn, err := net.Dial("unix", pipe("control_privileged"))
	if err != nil {
		return fmt.Errorf("cannot find the control daemon: %w", err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, command); err != nil {
		return err
	}
	_, err = io.Copy(out, conn)
	return err
}
