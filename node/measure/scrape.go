package measure

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"pinion/raftfsm/metric"
)

// Bounds of a task's answer: it may answer anything.
const (
	scrapeTimeout   = 5 * time.Second
	maxScrapeHeader = 16 << 10
	maxScrapeBody   = 1 << 20
	maxScrapeLine   = 64 << 10
	maxSeries       = 1000 // lines of the metrics that are wanted
)

// counter is a metric that only grows, at a time.
type counter struct {
	value float64
	at    time.Time
}

// scraper asks a task for its metrics: over a connection of its own, without following a redirect or unpacking anything.
var scraper = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxScrapeHeader},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// scrape adds the metrics that a task exports and that are wanted: each the sum over its series, of a counter its growth in a second.
func (s *sampler) scrape(ctx context.Context, task metric.SelectedTask, add func(string, metric.Name, float64)) {
	if task.Export == nil {
		return
	}
	families, err := s.families(ctx, task.Export)
	if err != nil {
		s.Log.Debug("the metrics that a task exports cannot be read", "task", task.ID, "error", err)
		return
	}
	now := time.Now()
	for name, family := range families {
		value, ok := sumOf(family)
		if ok && family.GetType() == dto.MetricType_COUNTER {
			value, ok = s.growth(task.ID+"/"+name, counter{value, now})
		}
		if ok && slices.Contains(task.Export.Names, name) {
			add(task.ID, metric.Exported.WithPart(name), value)
		}
	}
}

// families asks the task for its metrics.
func (s *sampler) families(ctx context.Context, e *metric.Export) (map[string]*dto.MetricFamily, error) {
	host, _, err := net.SplitHostPort(s.Address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(cmp.Or(e.Address, host), strconv.Itoa(e.Port))+e.Path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	response, err := scraper.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", response.Status)
	}
	text, err := linesOf(response.Body, e.Names)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(text)
}

// linesOf are the lines of an answer that are about some metrics. The rest is never parsed, so that what a task exports takes little memory.
func linesOf(body io.Reader, names []string) (io.Reader, error) {
	limited := &io.LimitedReader{R: body, N: maxScrapeBody + 1}
	var kept bytes.Buffer
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, maxScrapeLine)
	series := 0
	for lines.Scan() {
		line := strings.TrimLeft(lines.Text(), " \t")
		kind, isType := strings.CutPrefix(line, "# TYPE ")
		end := strings.IndexAny(kind, "{ \t")
		if end < 0 || !slices.Contains(names, kind[:end]) {
			continue
		}
		if !isType {
			series++
		}
		kept.WriteString(line + "\n")
		if series > maxSeries {
			return nil, fmt.Errorf("the metrics that are wanted have more than %d series", maxSeries)
		}
	}
	if limited.N <= 0 {
		return nil, fmt.Errorf("what it exports is larger than %d bytes", maxScrapeBody)
	}
	return &kept, lines.Err()
}

// sumOf is the sum over the series of a metric; not ok of histograms and summaries, and of what is no number from 0 on.
func sumOf(family *dto.MetricFamily) (sum float64, ok bool) {
	for _, m := range family.GetMetric() {
		switch family.GetType() {
		case dto.MetricType_GAUGE:
			sum += m.GetGauge().GetValue()
		case dto.MetricType_UNTYPED:
			sum += m.GetUntyped().GetValue()
		case dto.MetricType_COUNTER:
			sum += m.GetCounter().GetValue()
		default:
			return 0, false
		}
	}
	return sum, len(family.GetMetric()) > 0 && sum >= 0 && !math.IsInf(sum, 0)
}

// growth is by how much a counter grows in a second; not ok at first, and when it began anew.
func (s *sampler) growth(key string, now counter) (perSecond float64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.counters[key]
	s.counters[key] = now
	span := now.at.Sub(before.at).Seconds()
	if !known || span <= 0 || now.value < before.value {
		return 0, false
	}
	return (now.value - before.value) / span, true
}

// forget drops the counters of tasks that are not wanted any more.
func (s *sampler) forget(wanted []metric.SelectedTask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.counters {
		id, _, _ := strings.Cut(key, "/")
		if !slices.ContainsFunc(wanted, func(t metric.SelectedTask) bool { return t.ID == id }) {
			delete(s.counters, key)
		}
	}
}
