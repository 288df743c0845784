package many

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pinion/packaging/testbed"
)

// failAt upgrades the pool, and kills the new program of the nth host as soon as it runs: that host gets the previous program back, and the upgrade stops
// there. The hosts before it have the new one, those behind it were not touched.
func (p *upgradedPool) failAt(t *testing.T, to string, nth int) {
	t.Helper()
	h := p.Hosts()[0]
	out, lines := io.Pipe()
	var problem strings.Builder
	cmd := exec.Command(h.Binary(), "--data-dir", h.Dir, "upgrade", "--to", to, "--all", "--dwell", "0s", "-o", "json")
	cmd.Stdout, cmd.Stderr = lines, &problem
	ended := make(chan error, 1)
	go func() {
		err := h.Run(cmd)
		lines.Close()
		ended <- err
	}()
	failed, done := "", []string{}
	for told, begun := bufio.NewScanner(out), 0; told.Scan(); {
		var e struct{ Host, Event, Reason string }
		must(t, json.Unmarshal(told.Bytes(), &e))
		switch e.Event {
		case "begun":
			if begun++; begun == nth {
				failed = e.Host
				p.killNew(t, p.byName(t, failed))
			}
		case "done":
			done = append(done, e.Host)
		case "failed":
			if e.Host != failed || !strings.Contains(e.Reason, "ROLLED_BACK") {
				t.Errorf("host %d to be upgraded: %+v", nth, e)
			}
		}
	}
	if err := <-ended; err == nil || failed == "" || !strings.Contains(problem.String(), failed) {
		t.Fatalf("host %d to be upgraded, %q, has failed: %v\n%s", nth, failed, err, problem.String())
	}
	if len(done) != nth-1 {
		t.Errorf("before host %d %v were done", nth, done)
	}
	p.programsDiffer(t, done)
}

// byName is the host of a name.
func (p *pool) byName(t *testing.T, name string) *testbed.Host {
	t.Helper()
	for _, h := range p.Hosts() {
		if h.Name == name {
			return h
		}
	}
	t.Fatalf("there is no host %q", name)
	return nil
}

// killNew waits until the process of a host has the new program, and kills it. The guard then starts the previous one, which is the host's from then on.
func (p *upgradedPool) killNew(t *testing.T, h *testbed.Host) {
	t.Helper()
	before := h.PID()
	eventually(t, h.Name+" has the new program", func() bool {
		runs, err := os.Stat(fmt.Sprintf("/proc/%d/exe", before))
		is, fileErr := os.Stat(h.Own)
		return errors.Join(err, fileErr) == nil && os.SameFile(runs, is) && endsWith(h.Own, "second")
	})
	must(t, h.Kill(t.Context()))
	eventually(t, h.Name+" has the previous program", func() bool { return h.Adopt() == nil && h.PID() != before })
}

// endsWith reports whether the last bytes of a file are the word.
func endsWith(path, word string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	end := make([]byte, len(word))
	if _, err := file.Seek(-int64(len(word)), io.SeekEnd); err != nil {
		return false
	}
	_, err = io.ReadFull(file, end)
	return err == nil && string(end) == word
}

// programsDiffer checks that these hosts run the second program, and all others the first.
func (p *upgradedPool) programsDiffer(t *testing.T, upgraded []string) {
	t.Helper()
	want := map[string]string{}
	for _, name := range upgraded {
		want[name] = "second"
	}
	for _, h := range p.Hosts() {
		word := want[h.Name]
		if word == "" {
			word = "first"
		}
		if !endsWith(fmt.Sprintf("/proc/%d/exe", h.PID()), word) {
			t.Errorf("%s does not run the %s program", h.Name, word)
		}
	}
}
