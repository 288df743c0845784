package testbed

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// endingProcess makes this test's own program one whose first thread has ended and whose others live on, as those of a killed
// process do for a moment.
const endingProcess = "TESTBED_ENDING_PROCESS"

func init() { // on the first thread
	if os.Getenv(endingProcess) != "" {
		unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
}

func TestAProcessLivesUntilItsLastThreadHasEnded(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), endingProcess+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	err := poll(t.Context(), "the first thread lives", func() (bool, error) {
		stat, ok := readStat(cmd.Process.Pid)
		return ok && stat.state == "Z", nil
	})
	p, alive := findProcess(cmd.Process.Pid)
	if err != nil || !alive {
		t.Errorf("alive %v, %v", alive, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := p.waitExit(t.Context()); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}
