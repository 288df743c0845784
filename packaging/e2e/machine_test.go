package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// newMachine is this machine as a user finds it who has cloned the project and installed nothing: with a network, a host
// name, a /var/lib and a /usr/local/bin of its own, and a shell in a copy of the checkout.
type newMachine struct {
	commands io.WriteCloser
	output   *lockedBuffer
}

// machineScript makes the directories and runs commands, which end with a zero byte. A command's output ends with its status
// between two of them. The machine ends with its last command, or with one that hangs when it is terminated, and takes its host away.
const machineScript = `
trap : TERM
mount --bind "$1/lib" /var/lib
mount -t overlay overlay -o "lowerdir=/usr/local/bin,upperdir=$1/bin,workdir=$1/work" /usr/local/bin
ip link set lo up
cd "$1/checkout"
while IFS= read -r -d '' -u 3 command; do
	eval "$command" </dev/null 3<&-
	printf '\0%d\0' $?
done
"$2" down --purge --force
`

// startMachine starts a machine whose address inner is outer's of this one: that of a registry.
func startMachine(t *testing.T, inner, outer string, environment ...string) *newMachine {
	t.Helper()
	scratch, err := os.MkdirTemp("", "pinion-e2e-machine-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(scratch) })
	for _, dir := range []string{"lib", "bin", "work", "home", "checkout"} {
		must(t, os.Mkdir(filepath.Join(scratch, dir), 0o755))
	}
	must(t, os.CopyFS(filepath.Join(scratch, "checkout/docs/examples"), os.DirFS("../../docs/examples")))
	must(t, os.Symlink(filepath.Dir(binary), filepath.Join(scratch, "checkout/bin")))

	commands, input, err := os.Pipe()
	must(t, err)
	defer commands.Close()
	m := &newMachine{commands: input, output: &lockedBuffer{}}
	cmd := exec.Command("unshare", "--mount", "bash", "-c", machineScript, "bash", scratch, binary)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = m.output, m.output, []*os.File{commands}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(userEnvironment(), append(environment, "HOME="+filepath.Join(scratch, "home"), "CHECKOUT="+filepath.Join(scratch, "checkout"))...)
	listener, err := startApart(cmd, inner)
	must(t, err)
	go forward(listener, outer)
	t.Cleanup(func() {
		listener.Close()
		input.Close()
		if t.Failed() {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("pinion down --purge on the new machine: %v\n%s", err, m.output)
		}
		if left, err := os.ReadDir(filepath.Join(scratch, "lib")); err != nil || len(left) > 0 {
			t.Errorf("pinion down --purge left %v in /var/lib: %v", left, err)
		}
	})
	return m
}

// userEnvironment is this process's without what Pinion and AWS clients read.
func userEnvironment() (all []string) {
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "PINION_") && !strings.HasPrefix(pair, "AWS_") && !strings.HasPrefix(pair, "XDG_") {
			all = append(all, pair)
		}
	}
	return all
}

// startApart starts a process in a network of its own with the host name gpu-1, and listens there.
func startApart(cmd *exec.Cmd, address string) (net.Listener, error) {
	type started struct {
		listener net.Listener
		err      error
	}
	done := make(chan started, 1)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with this goroutine
		err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWUTS)
		if err == nil {
			err = unix.Sethostname([]byte("gpu-1"))
		}
		if err == nil {
			err = exec.Command("ip", "link", "set", "lo", "up").Run()
		}
		var l net.Listener
		if err == nil {
			l, err = net.Listen("tcp", address)
		}
		if err == nil {
			err = cmd.Start()
		}
		done <- started{l, err}
	}()
	s := <-done
	return s.listener, s.err
}

// forward copies what comes in at the listener to an address of this machine, and back.
func forward(l net.Listener, address string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			out, err := net.Dial("tcp", address)
			if err != nil {
				return
			}
			defer out.Close()
			go io.Copy(out, in)
			io.Copy(in, out)
		}()
	}
}

// run types a command, which has to succeed, and waits until the terminal shows what it should. A command that looks at what
// is still under way is typed again.
func (m *newMachine) run(t *testing.T, command string, shown func(output string) bool) {
	t.Helper()
	polls := strings.HasPrefix(command, "pinion ps") || strings.HasPrefix(command, "pinion why")
	var since int
	var output string
	enter := func() {
		since = len(m.output.String())
		if _, err := fmt.Fprintf(m.commands, "%s\x00", command); err != nil {
			t.Fatalf("%s: the shell has ended: %v\n%s", command, err, m.output)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n%s", command, output)
		}
	})
	enter()
	eventually(t, command+": shows what is documented", func() bool {
		output = m.output.String()[since:]
		parts := strings.SplitN(output, "\x00", 3)
		if len(parts) < 3 {
			return false
		}
		if parts[1] != "0" {
			t.Fatalf("%s: status %s\n%s", command, parts[1], output)
		}
		if shown(parts[0] + parts[2]) {
			return true
		}
		if polls {
			enter()
		}
		return false
	})
}
