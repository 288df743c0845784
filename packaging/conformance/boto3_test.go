package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// boto3 is a Python program that makes the calls it reads.
type boto3 struct {
	calls   *json.Encoder
	answers *bufio.Scanner
}

// boto3Version skips the test where boto3 is not on this machine.
func boto3Version(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("python3", "-c", "import boto3; print(boto3.__version__)").CombinedOutput()
	if err != nil {
		t.Skipf("NOT TESTED: boto3 is not on this machine: %s", out)
	}
	return strings.TrimSpace(string(out))
}

func newBoto3(t *testing.T, s *site) boto3 {
	t.Helper()
	cmd := s.command("python3", script(t, "boto3_client.py"))
	in, asked := io.Pipe()
	told, out := io.Pipe()
	var problem strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &problem
	ended := make(chan error, 1)
	go func() {
		err := s.host.Run(cmd)
		out.Close()
		ended <- err
	}()
	t.Cleanup(func() {
		asked.Close()
		if err := <-ended; err != nil {
			t.Errorf("boto3: %v: %s", err, problem.String())
		}
	})
	answers := bufio.NewScanner(told)
	answers.Buffer(nil, 1<<20)
	return boto3{json.NewEncoder(asked), answers}
}

func (c boto3) call(operation, body string) (answer []byte, refusal string, err error) {
	if err := c.calls.Encode(map[string]any{"operation": operation, "body": json.RawMessage(body)}); err != nil {
		return nil, "", err
	}
	if !c.answers.Scan() {
		return nil, "", fmt.Errorf("boto3 has ended: %v", c.answers.Err())
	}
	var told struct {
		Answer  json.RawMessage
		Refusal string
		Older   bool
	}
	err = json.Unmarshal(c.answers.Bytes(), &told)
	if told.Older {
		err = errOlder
	}
	return told.Answer, told.Refusal, err
}

// testWaitersAndPaginators runs boto3's own loops around calls.
func (s *site) testWaitersAndPaginators(t *testing.T) {
	out, err := s.run(s.command("python3", script(t, "boto3_check.py"), container))
	if err != nil || !strings.Contains(string(out), "all passed") {
		t.Errorf("%s\n%v", out, err)
	}
}

func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	fine(t, err)
	return path
}
