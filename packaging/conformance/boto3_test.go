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

// boto3Client is a Python program that makes the calls it reads.
type boto3Client struct {
	requests  *json.Encoder
	responses *bufio.Scanner
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

func newBoto3(t *testing.T, s *testPool) boto3Client {
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
	return boto3Client{json.NewEncoder(asked), answers}
}

func (c boto3Client) call(operation, body string) (answer []byte, refusal string, err error) {
	if err := c.requests.Encode(map[string]any{"operation": operation, "body": json.RawMessage(body)}); err != nil {
		return nil, "", err
	}
	if !c.responses.Scan() {
		return nil, "", fmt.Errorf("boto3 has ended: %v", c.responses.Err())
	}
	var told struct {
		Answer  json.RawMessage
		Refusal string
		Older   bool
	}
	err = json.Unmarshal(c.responses.Bytes(), &told)
	if told.Older {
		err = errClientTooOld
	}
	return told.Answer, told.Refusal, err
}

// testWaitersAndPaginators runs boto3's own loops around calls.
func (s *testPool) testWaitersAndPaginators(t *testing.T) {
	out, err := s.run(s.command("python3", script(t, "boto3_check.py"), container))
	if err != nil || !strings.Contains(string(out), "all passed") {
		t.Errorf("%s\n%v", out, err)
	}
}

func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	must(t, err)
	return path
}
