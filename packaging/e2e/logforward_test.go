package e2e

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// collector is a destination of logs that keeps the lines which it is sent.
type collector struct {
	address string
	mu      sync.Mutex
	lines   map[string]int
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &collector{address: "tcp://" + l.Addr().String(), lines: map[string]int{}}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go c.read(conn)
		}
	}()
	return c
}

func (c *collector) read(conn net.Conn) {
	defer conn.Close()
	for in := bufio.NewScanner(conn); in.Scan(); {
		_, text, _ := strings.Cut(in.Text(), "]: ")
		c.mu.Lock()
		c.lines[text]++
		c.mu.Unlock()
	}
}

// missing is how many of the lines 1 to n have not come.
func (c *collector) missing(n int) (missing int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range n {
		if c.lines[fmt.Sprint("line ", i+1)] == 0 {
			missing++
		}
	}
	return missing
}

// Every line of a container arrives at its syslog server, over a kill -9 of pinion and the end of the task while pinion was away, and is kept on the host
// too. A destination that the operator has not named gets nothing.
func TestTheLogOfATaskIsSentToSyslog(t *testing.T) {
	to := newCollector(t)
	h := newHost(t, "--log-destination", to.address)
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	logTo := func(address string) object {
		return object{"logConfiguration": object{"logDriver": "syslog", "options": object{"syslog-address": address, "tag": "{{.ID}}"}}}
	}
	h.registerShell(t, "logs", 0, "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; [ $((i%100)) = 0 ] && sleep 0.1; done", logTo(to.address))
	id := h.runTask(t, "logs")
	eventually(t, "the first lines", func() bool { return to.missing(500) == 0 })
	h.signalAndWait(t, syscall.SIGKILL)
	h.start(t)
	h.waitStopped(t, id)
	eventually(t, "all lines", func() bool { return to.missing(3000) == 0 })
	if kept := strings.Count(h.log(t, id), "line "); kept != 3000 {
		t.Errorf("the host has %d lines", kept)
	}

	other := newCollector(t)
	h.registerShell(t, "elsewhere", 0, "echo line 1", logTo(other.address))
	a := h.mustCall(t, "RunTask", object{"taskDefinition": "elsewhere"})
	if failures := a.list("failures"); len(failures) != 1 || !strings.Contains(fmt.Sprint(failures), "pinion up --log-destination "+other.address) || other.missing(1) == 0 {
		t.Errorf("%v", a)
	}
}
