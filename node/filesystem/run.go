package filesystem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// searchPath is the PATH of mount, umount and their helpers.
	searchPath = "/usr/sbin:/usr/bin:/sbin:/bin"
	// maxSaid bounds the kept output of a program, in bytes: more than is quoted, which is cut when no login is in it any more.
	maxSaid = 8 << 10
	// outputGrace is the time for which a file system in user space may hold on to the output of the program that has started it.
	outputGrace = 5 * time.Second
)

// program is the path of a program of the system, unless it is given.
func program(given, name string) (string, error) {
	if given != "" {
		return given, nil
	}
	for _, dir := range filepath.SplitList(searchPath) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("this host has no %s in %s: install util-linux", name, searchPath)
}

// run runs a program with these arguments and returns its output in one line. After the timeout it is killed with all that it has started, and when
// the kernel does not let it go, run waits on. It ends with this process.
func run(path string, timeout time.Duration, args ...string) (said string, err error) {
	goruntime.LockOSThread() // which the kernel takes for the parent of the program
	defer goruntime.UnlockOSThread()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var output head
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=" + searchPath, "LC_ALL=C", "HOME=" + os.Getenv("HOME")}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputGrace
	err = cmd.Run()
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil
	case ctx.Err() != nil:
		err = fmt.Errorf("it was not done within %v: does its server answer?", timeout)
	}
	return strings.Join(strings.Fields(output.String()), " "), err
}

// head keeps the first maxSaid bytes that are written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), max(0, maxSaid-h.Len()))])
	return len(p), nil
}
