package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// traceEvent is an event of a trace of the browser, as the Trace Event Format has it.
type traceEvent struct {
	Name string            `json:"name"`
	PID  int               `json:"pid"`
	TID  int               `json:"tid"`
	CPU  float64           `json:"tdur"` // processor time in microseconds
	Args map[string]string `json:"args"`
}

type thread struct{ pid, tid int }

// traced is a trace of the browser.
type traced struct {
	mu    sync.Mutex
	mains map[thread]bool    // the main threads of pages
	tasks map[thread]float64 // the longest task of each thread, in microseconds of processor time
	done  chan struct{}
}

func (r *traced) take(event any) {
	switch e := event.(type) {
	case *tracing.EventDataCollected:
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, text := range e.Value {
			var found traceEvent
			_ = json.Unmarshal(text, &found) // events of other kinds have other arguments
			of := thread{found.PID, found.TID}
			if found.Name == "thread_name" && found.Args["name"] == "CrRendererMain" {
				r.mains[of] = true
			}
			if strings.HasSuffix(found.Name, "RunTask") {
				r.tasks[of] = max(r.tasks[of], found.CPU)
			}
		}
	case *tracing.EventTracingComplete:
		close(r.done)
	}
}

// busiest is the most processor time that the page takes without a break, in which it answers nobody. What else the machine does meanwhile counts for
// nothing.
func (p *page) busiest(while time.Duration) (longest time.Duration) {
	p.Helper()
	r := &traced{mains: map[thread]bool{}, tasks: map[thread]float64{}, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	chromedp.ListenTarget(ctx, r.take)
	p.do(tracing.Start().WithTransferMode(tracing.TransferModeReportEvents).WithTraceConfig(&tracing.TraceConfig{IncludedCategories: []string{"toplevel"}}), chromedp.Sleep(while), tracing.End())
	select {
	case <-r.done:
	case <-ctx.Done():
		p.Fatal("the browser is gone")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mains) == 0 {
		p.Fatal("the trace has no page")
	}
	for main := range r.mains {
		longest = max(longest, time.Duration(r.tasks[main])*time.Microsecond)
	}
	return longest
}
