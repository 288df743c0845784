package proxy

import (
	"encoding/json"
	"io"
	"sync/atomic"
	"time"
)

// accessLog writes a line for each call. It never delays one: beyond maxLines that wait to be written, lines are dropped.
type accessLog struct {
	lines   chan accessLine
	dropped atomic.Uint64
	end     chan struct{} // closed by close; lines stays open for calls that end later
	done    chan struct{}
}

const (
	maxLines = 4096
	maxField = 1024 // bytes of what a client chooses
)

// accessLine is one line, of a request or of a connection.
type accessLine struct {
	Time      time.Time `json:"time"` // of its end
	Listener  string    `json:"listener"`
	Client    string    `json:"client"`
	Method    string    `json:"method,omitempty"`
	Host      string    `json:"host,omitempty"`
	URI       string    `json:"uri,omitempty"`
	Protocol  string    `json:"protocol"`
	UserAgent string    `json:"userAgent,omitempty"`
	Status    int       `json:"status,omitempty"`
	Sent      int64     `json:"sent"`
	Group     string    `json:"group,omitempty"`
	Target    string    `json:"target,omitempty"`
	Attempts  int       `json:"attempts,omitempty"`
	Broken    bool      `json:"broken,omitempty"`
	FirstByte float64   `json:"firstByte,omitempty"` // ms
	Took      float64   `json:"took"`                // ms
}

// newAccessLog without a writer takes nothing.
func newAccessLog(w io.Writer) *accessLog {
	a := &accessLog{}
	if w == nil {
		return a
	}
	a.lines, a.end, a.done = make(chan accessLine, maxLines), make(chan struct{}), make(chan struct{})
	go a.write(json.NewEncoder(w))
	return a
}

func (a *accessLog) write(to *json.Encoder) {
	defer close(a.done)
	for {
		select {
		case e := <-a.lines:
			_ = to.Encode(e)
			continue
		case <-a.end:
		}
		for range len(a.lines) {
			_ = to.Encode(<-a.lines)
		}
		return
	}
}

func (a *accessLog) add(c *call, took time.Duration) {
	if a.lines == nil {
		return
	}
	select {
	case a.lines <- c.accessLine(took):
	default:
		a.dropped.Add(1)
	}
}

// close writes the lines that wait.
func (a *accessLog) close() {
	if a.lines != nil {
		close(a.end)
		<-a.done
	}
}

func (c *call) accessLine(took time.Duration) accessLine {
	e := accessLine{Time: c.began.Add(took), Listener: c.listener.ID, Client: c.client, Protocol: string(c.listener.Protocol), Status: c.status,
		Sent: c.sent.Load(), Attempts: c.attempts, Broken: c.broken.Load(), FirstByte: milliseconds(c.firstByte), Took: milliseconds(took)}
	if r := c.request; r != nil {
		e.Method, e.Host, e.URI, e.Protocol, e.UserAgent = cut(r.Method), cut(r.Host), cut(r.RequestURI), r.Proto, cut(r.UserAgent())
	}
	if c.group != nil {
		e.Group = c.group.id
	}
	if c.target != nil {
		e.Target = c.target.id
	}
	return e
}

func cut(s string) string { return s[:min(len(s), maxField)] }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
