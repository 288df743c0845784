package metrics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

const (
	// hostTimeout is how long another host may take to answer. Prometheus waits for 10 s by default.
	hostTimeout = 8 * time.Second
	// maxHostBytes bounds the metrics of another host, which may be in the wrong hands.
	maxHostBytes = 8 << 20
	// maxHostLines and maxHostLabels bound what takes far more memory once it is read than as text: a host with 500 containers has half of it.
	maxHostLines  = 50_000
	maxHostLabels = 400_000
	// answerFresh is how long the answer of a host is given to others that ask, and answerFailed how long that there is none.
	answerFresh  = time.Second
	answerFailed = 5 * time.Second
	// maxReading is how many answers are read at once.
	maxReading = 4
)

// contentType is that of the text format of Prometheus.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// Config is what a Handler needs. All fields but Peers.Transport are required.
type Config struct {
	Registry *Registry
	HostID   string                   // of this host
	Peers    *httpx.Peers             // reaches the other hosts
	Healthy  func(hostID string) bool // whether a host was heard of lately; asked on the leader
	Limits   *httpx.Limits
}

// Handler serves metrics.
type Handler struct {
	Config
	hosts   httpx.HostAnswerCache[answer]
	reading chan struct{} // a place for each of maxReading
}

// answer is the part of another host's response that the caller may see.
type answer struct {
	text []byte
	err  error
}

// New makes a Handler.
func New(c Config) *Handler { return &Handler{Config: c, reading: make(chan struct{}, maxReading)} }

// Asked serves the metrics of the host that the client has asked, GET /metrics. An agent has no keys to know its callers by: it has the leader
// decide, which asks it in turn.
func (h *Handler) Asked(x *httpx.Exchange, res leader.Resolution) error {
	id := h.HostID
	if x.Origin.Forwarded {
		id = x.Origin.Peer.HostID
	}
	return h.of(x, res, id)
}

// Named serves the metrics of the host {id}, GET /v1/hosts/{id}/metrics.
func (h *Handler) Named(x *httpx.Exchange, res leader.Resolution) error {
	return h.of(x, res, x.Request.PathValue("id"))
}

func (h *Handler) of(x *httpx.Exchange, res leader.Resolution, id string) error {
	host := res.View.Host(id)
	if host == nil || !res.Principal.Clusters.Covers(host.Cluster) {
		return wire.Errorf(httpx.NotFound, "There is no host %q: GET /v1/hosts lists them.", id)
	}
	if id == h.HostID || h.Peers.Transport == nil {
		return h.put(x, res, func() ([]*dto.MetricFamily, error) { return h.gather(x, host.Cluster), nil })
	}
	if err := h.Peers.Await(x, res.Principal.SlotOwner(), id); err != nil {
		return err
	}
	asked := h.hosts.Get(id, func() (answer, time.Duration) {
		text, err := h.read(context.WithoutCancel(x.Context()), host)
		if err != nil {
			return answer{err: err}, answerFailed
		}
		return answer{text: text}, answerFresh
	})
	if asked.err != nil {
		return wire.Errorf(wire.Server, "The metrics of host %s cannot be read at %s: %v.", host.Name, host.Address, asked.err)
	}
	if res.Principal.SeesAll() {
		replyText(x, asked.text)
		return nil
	}
	return h.put(x, res, func() ([]*dto.MetricFamily, error) { return parse(asked.text) })
}

// put puts an answer together of what the principal may see of families. Few are put together at once: it may take some of a second.
func (h *Handler) put(x *httpx.Exchange, res leader.Resolution, families func() ([]*dto.MetricFamily, error)) error {
	if err := h.Limits.HoldList(x, res.Principal.SlotOwner()); err != nil {
		return err
	}
	all, err := families()
	if err != nil {
		return err
	}
	return reply(x, visible(res.Principal, all))
}

// read asks another host, and makes of its answer what it may tell.
func (h *Handler) read(ctx context.Context, host *spec.Host) ([]byte, error) {
	text, err := h.ask(ctx, host)
	if err != nil {
		return nil, err
	}
	if lines, labels := bytes.Count(text, []byte("\n")), bytes.Count(text, []byte("=")); lines > maxHostLines || labels > maxHostLabels {
		return nil, fmt.Errorf("it sends %d lines with %d labels, of %d and %d at most", lines, labels, maxHostLines, maxHostLabels)
	}
	h.reading <- struct{}{}
	defer func() { <-h.reading }()
	families, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("what it answers are no metrics: %w", err)
	}
	return encode(ownOf(host, families))
}

// Here is the answer of this host to a server that has authorized the request, and knows the cluster that it serves.
func (h *Handler) Here(x *httpx.Exchange, id string) error {
	if id != h.HostID {
		return wire.Errorf(httpx.NotFound, "This host is %s, not %s.", h.HostID, id)
	}
	return reply(x, h.gather(x, x.Request.URL.Query().Get(clusterLabel)))
}

// Pool serves the metrics of the pool, GET /metrics/pool. The leader has them.
func (h *Handler) Pool(x *httpx.Exchange, res leader.Resolution) error {
	return h.put(x, res, func() ([]*dto.MetricFamily, error) { return gather(x, h.Registry.Pool), nil })
}

// gather is what there is of this host.
func (h *Handler) gather(x *httpx.Exchange, cluster string) []*dto.MetricFamily {
	return gather(x, h.Registry.Gatherer(func() string { return cluster }))
}

// gather is what a registry has. Metrics that cannot be gathered are missing, and the log says why: the others count the more.
func gather(x *httpx.Exchange, from prometheus.Gatherer) []*dto.MetricFamily {
	families, err := from.Gather()
	if err != nil {
		x.Log.Warn("some metrics cannot be gathered", "error", err)
	}
	return families
}

// ask asks another host, authorized by this one.
func (h *Handler) ask(ctx context.Context, host *spec.Host) (text []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/v1/hosts/"+host.ID+"/metrics?"+url.Values{clusterLabel: {host.Cluster}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	r.Host = host.Address
	response, end, err := h.Peers.RoundTrip(r, host.Address, http.Header{httpx.HeaderAuthorizedBy: {h.HostID}, "User-Agent": {""}}, nil)
	defer end()
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("nothing came for " + hostTimeout.String())
		}
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers with status %d: it may run an older pinion", response.StatusCode)
	}
	text, err = io.ReadAll(io.LimitReader(response.Body, maxHostBytes+1))
	if err == nil && len(text) > maxHostBytes {
		err = fmt.Errorf("it sends more than %d MiB", maxHostBytes>>20)
	}
	return text, err
}

// parse reads the text format of Prometheus.
func parse(text []byte) ([]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	byName, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	families := make([]*dto.MetricFamily, 0, len(byName))
	for _, family := range byName {
		families = append(families, family)
	}
	return families, nil
}

func reply(x *httpx.Exchange, families []*dto.MetricFamily) error {
	text, err := encode(families)
	if err == nil {
		replyText(x, text)
	}
	return err
}

func encode(families []*dto.MetricFamily) ([]byte, error) {
	var text bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

func replyText(x *httpx.Exchange, text []byte) {
	x.Format = contentType
	x.ReplyEncoded(http.StatusOK, text)
}
