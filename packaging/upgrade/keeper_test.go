package upgrade

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// A client that waits for a new program, which is killed before it accepts anybody, is answered by the program that is started in another process: the
// guard has the socket.
func TestAClientWaitsWhileTheProgramOfBeforeIsPutBack(t *testing.T) {
	dir, port := t.TempDir(), freePort(t)
	guard, err := keep(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer guard.close()
	host := func(phase string) (cmd *exec.Cmd, lines *bufio.Reader, in io.WriteCloser) {
		cmd = exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", phaseVariable, phase, port), dirVariable+"="+dir)
		in, err := cmd.StdinPipe()
		out, outErr := cmd.StdoutPipe()
		if err := errors.Join(err, outErr, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd, bufio.NewReader(out), in
	}
	says := func(lines *bufio.Reader, want string) {
		t.Helper()
		if line, err := lines.ReadString('\n'); line != want+"\n" {
			t.Fatalf("%q, %v, not %q", line, err, want)
		}
	}
	upgraded, lines, in := host("loses")
	says(lines, "closed")
	client, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	io.WriteString(in, "go on\n")
	says(lines, "hangs")
	upgraded.Process.Kill()
	upgraded.Wait()

	_, lines, _ = host("after")
	says(lines, "listens")
	guard.awaitFetch(time.Minute) // at once
	client.SetDeadline(time.Now().Add(time.Minute))
	if answer, err := io.ReadAll(client); string(answer) != "after" {
		t.Errorf("%q %v", answer, err)
	}
}
