package many

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pinion/packaging/testbed"
)

// checkStatesEqual waits until the states of all servers are equal, byte by byte, and every host answers the same.
func (p *pool) checkStatesEqual(t testing.TB) {
	t.Helper()
	var why string
	defer func() {
		if t.Failed() && why != "" {
			t.Logf("at last: %s", why)
		}
	}()
	eventually(t, "all servers have the same state", func() bool {
		why = p.stateDifference()
		return why == ""
	})
	eventually(t, "all hosts answer the same about GPUs", func() bool {
		first := ""
		for i, h := range p.Hosts() {
			var raw rawBody
			status, err := p.getStatus(h, "gpus", &raw)
			if err != nil || status != 200 || i > 0 && string(raw) != first {
				return false
			}
			first = string(raw)
		}
		return true
	})
}

// stateDifference tells how the servers' own states differ; empty when they do not.
func (p *pool) stateDifference() string {
	sums := map[string]string{}
	different := map[string]bool{}
	for _, h := range p.Hosts() {
		var digest struct {
			Index  uint64 `json:"index"`
			SHA256 string `json:"sha256"`
		}
		status, err := p.getStatus(h, "admin/checksum", &digest)
		switch {
		case err != nil:
			return fmt.Sprintf("%s: %v", h.Name, err)
		case status == 404: // an agent
			continue
		case status != 200:
			return fmt.Sprintf("%s answers with status %d", h.Name, status)
		}
		sums[h.Name] = fmt.Sprintf("index %d, %s", digest.Index, digest.SHA256)
		different[digest.SHA256] = true
	}
	if len(sums) != p.wantServers() || len(different) != 1 {
		return fmt.Sprintf("want %d servers with one state, have %v", p.wantServers(), sums)
	}
	return ""
}

// agentLine is what an agent says at debug level about who knows what it runs.
var agentLine = regexp.MustCompile(`msg="agent: (what runs here is not reported|what runs here is reported|a task is assigned)"(?: tasks=(\d+))?`)

// agentLog is what a host's log has said so far.
type agentLog struct {
	read     int64 // bytes of the log
	found    int   // tasks that were here when the agent began
	reported bool
	reports  int
	tasks    int // that were assigned
}

// parseLine takes in one line; the error says that the host was given work before it had reported what it runs.
func (a *agentLog) parseLine(line []byte) error {
	said := agentLine.FindSubmatch(line)
	if said == nil {
		return nil
	}
	n, _ := strconv.Atoi(string(said[2]))
	switch text := string(said[1]); {
	case strings.HasSuffix(text, "not reported"):
		a.reported, a.found = false, n
	case strings.HasSuffix(text, "is reported"):
		if n < a.found {
			return fmt.Errorf("%d tasks were found on the host, and %d reported", a.found, n)
		}
		a.reported, a.found, a.reports = true, 0, a.reports+1
	case !a.reported:
		return fmt.Errorf("work was given to a host before it had reported: %s", line)
	default:
		a.tasks++
	}
	return nil
}

// follow takes in what was written to the log since the last time.
func (a *agentLog) follow(log io.ReadSeeker) (all error) {
	if _, err := log.Seek(a.read, io.SeekStart); err != nil {
		return err
	}
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the rest of an unfinished line is for the next time
			return all
		}
		a.read += int64(len(line))
		all = errors.Join(all, a.parseLine(line))
	}
}

// checkReportedFirst checks by every host's own log that it was given no work before it had reported what it runs.
func (p *pool) checkReportedFirst(t testing.TB) {
	t.Helper()
	for _, h := range p.Hosts() {
		a := p.agentLogOf(h)
		log, err := os.Open(h.LogFile())
		must(t, err)
		if err := errors.Join(a.follow(log), log.Close()); err != nil {
			t.Errorf("%s: %v", h.Name, err)
		}
		if a.reports == 0 {
			t.Errorf("%s says nothing of what it reports; its log has to be of the level debug", h.Name)
		}
	}
}

func (p *pool) agentLogOf(h *testbed.Host) *agentLog {
	a, _ := p.agentLogs.LoadOrStore(h.Name, &agentLog{})
	return a.(*agentLog)
}

func TestWorkBeforeAReportIsNoticed(t *testing.T) {
	const found, lost, reported, assigned = `level=DEBUG msg="agent: what runs here is not reported" tasks=2`,
		`level=DEBUG msg="agent: what runs here is not reported" err="no server"`,
		`level=DEBUG msg="agent: what runs here is reported" tasks=2`, `level=DEBUG msg="agent: a task is assigned" task=x`
	for name, c := range map[string]struct {
		lines  []string
		wanted string
	}{
		"in order":               {[]string{found, "other", reported, assigned, lost, reported, assigned}, ""},
		"at the start":           {[]string{found, assigned, reported}, "before it had reported"},
		"in touch again":         {[]string{found, reported, lost, assigned}, "before it had reported"},
		"not all that was found": {[]string{strings.Replace(found, "2", "3", 1), reported}, "3 tasks were found on the host, and 2 reported"},
	} {
		var a agentLog
		err := a.follow(strings.NewReader(strings.Join(c.lines, "\n") + "\n"))
		if (err == nil) != (c.wanted == "") || err != nil && !strings.Contains(err.Error(), c.wanted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var a agentLog
	log := []byte(found + "\n" + reported)
	if err := a.follow(bytes.NewReader(log)); err != nil || a.reports != 0 {
		t.Errorf("half a line: %v, %+v", err, a)
	}
	if err := a.follow(bytes.NewReader(append(log, '\n'))); err != nil || a.reports != 1 {
		t.Errorf("the other half: %v, %+v", err, a)
	}
}
