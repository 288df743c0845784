package tracker

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pinion/raftfsm/blob"
	"pinion/server/peer"
	"pinion/server/rpc"
)

const (
	// PathRequest is the path of the leader's tracker: it says which hosts have blobs of images, and which of them fetches what from a registry. Any host
	// may call it, for itself.
	PathRequest = "/peer/leader/blobs"
	// maxRequest is the size of a request with all that a host may name, in bytes.
	maxRequest = 4 << 20
	// PathBlobs is the path at any host for the blobs that it has of the images of its tasks, by digest. Any host of the pool may read it: a digest
	// is a name that nobody guesses.
	PathBlobs = "/peer/blobs/"
)

// PeerTransport exchanges blobs of images with other hosts: it asks the tracker and them, and answers them. It is safe for concurrent use.
type PeerTransport struct {
	config    PeerTransportConfig
	client    *http.Client // its own: what streams over it delays no call
	addresses sync.Map     // id -> address, as the tracker last said
	blobs     atomic.Pointer[BlobHandler]
}

// PeerTransportConfig is the configuration of a PeerTransport. All fields are required.
type PeerTransportConfig struct {
	Leader  rpc.Leadership
	HostID  string                   // of this host
	Dialer  peer.Dialer              // to other hosts; the exchange knows their addresses itself
	Tracker func() (*Tracker, error) // of the server here, while it leads
	Now     func() time.Time
}

// BlobHandler answers a host of the pool, by its id, that reads a blob; the wildcard "digest" of the request's path names it.
type BlobHandler func(w http.ResponseWriter, r *http.Request, host string)

// NewPeerTransport returns the transport of a host; Close ends its connections.
func NewPeerTransport(c PeerTransportConfig) *PeerTransport {
	e := &PeerTransport{config: c}
	c.Dialer.Address = e.addressOf
	e.client = c.Dialer.HTTPClient()
	return e
}

func (e *PeerTransport) addressOf(host string) string {
	address, _ := e.addresses.Load(host)
	text, _ := address.(string)
	return text
}

// Close ends the connections to other hosts.
func (e *PeerTransport) Close() { e.client.CloseIdleConnections() }

// HandleBlobs sets the handler for other hosts that read blobs.
func (e *PeerTransport) HandleBlobs(h BlobHandler) { e.blobs.Store(&h) }

// Ask tells the leader's tracker what this host has, and asks where to get what it lacks.
func (e *PeerTransport) Ask(ctx context.Context, in blob.Request) (blob.Answer, error) {
	answer, err := e.call().Do(ctx, e.config.Leader, e.config.HostID, in)
	for _, g := range answer.Grants {
		for _, p := range g.Peers {
			e.addresses.Store(p.Host, p.Address)
		}
	}
	return answer, err
}

// Changed is closed when another host leads, whose tracker knows nothing yet.
func (e *PeerTransport) Changed() <-chan struct{} { return e.config.Leader.Changed() }

// Read reads bytes of a blob from a host that an answer of Ask has named; size is that of the whole blob. Errors wrap blob.ErrNotHere or blob.ErrBusy if the host says so.
// Nobody has checked what comes: see the digest.
func (e *PeerTransport) Read(ctx context.Context, host, digest string, offset, length int64) (body io.ReadCloser, size int64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+":0"+PathBlobs+digest, nil)
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	response, err := e.client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	switch response.StatusCode {
	case http.StatusPartialContent:
		_, total, _ := strings.Cut(response.Header.Get("Content-Range"), "/")
		if size, err = strconv.ParseInt(total, 10, 64); err == nil {
			return response.Body, size, nil
		}
	case http.StatusNotFound:
		err = blob.ErrNotHere
	case http.StatusTooManyRequests:
		err = blob.ErrBusy
	default:
		err = fmt.Errorf("it answers %s", response.Status)
	}
	response.Body.Close()
	return nil, 0, fmt.Errorf("blob %s from host %s: %w", digest, host, err)
}

// Routes answers other hosts that call the tracker here, by the path of the call.
func (e *PeerTransport) Routes() map[string]rpc.HandlerFunc {
	return map[string]rpc.HandlerFunc{PathRequest: e.call().Handler()}
}

func (e *PeerTransport) call() rpc.LeaderCall[blob.Request, blob.Answer] {
	return rpc.LeaderCall[blob.Request, blob.Answer]{
		Path: PathRequest, MaxBytes: maxRequest, MaxElements: blob.MaxElements,
		Leads: func() error {
			_, err := e.config.Tracker()
			return err
		},
		Answer: func(_ context.Context, from string, in blob.Request) (blob.Answer, error) {
			tracker, err := e.config.Tracker()
			if err != nil {
				return blob.Answer{}, err
			}
			return tracker.AnswerHost(from, e.config.Now(), in), nil
		},
	}
}

// ServeBlob gives another host of the pool what this one has, at PathBlobs.
func (e *PeerTransport) ServeBlob(w http.ResponseWriter, r *http.Request, from string) {
	if serve := e.blobs.Load(); serve != nil {
		(*serve)(w, r, from)
		return
	}
	http.Error(w, "this host is starting", http.StatusServiceUnavailable)
}
