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
)

// contentType is that of the text format of Prometheus.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// Handler serves metrics. All fields but Peers.Transport are required.
type Handler struct {
	Registry *Registry
	HostID   string                   // of this host
	Peers    *httpx.Peers             // reaches the other hosts
	Healthy  func(hostID string) bool // whether a host was heard of lately; asked on the leader
}

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
		return reply(x, visible(res.Principal, h.gather(x, host.Cluster)))
	}
	text, err := h.ask(x.Context(), host)
	if err != nil {
		return wire.Errorf(wire.Server, "The metrics of host %s cannot be read at %s: %v.", host.Name, host.Address, err)
	}
	families, err := parse(text)
	if err != nil {
		return wire.Errorf(wire.Server, "Host %s answers with what are no metrics: %v.", host.Name, err)
	}
	return reply(x, visible(res.Principal, ownOf(host, families)))
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
	return reply(x, visible(res.Principal, gather(x, h.Registry.Pool)))
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
	var text bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			return err
		}
	}
	x.Format = contentType
	x.ReplyEncoded(http.StatusOK, text.Bytes())
	return nil
}
