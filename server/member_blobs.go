package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"pinion/raftfsm/blob"
	"pinion/server/peer"
)

const (
	// pathBlobRequest is where the leader says which hosts have blobs of images, and which of them fetches what from a registry. Any host
	// may call it, for itself.
	pathBlobRequest = pathLeader + "blobs"
	// maxBlobRequest is the size of a request with all that a host may name, in bytes.
	maxBlobRequest = 4 << 20
	// pathBlobs is where a host gives others what it has of the images of its tasks, by digest. Any host of the pool may read it: a digest
	// is a name that nobody guesses.
	pathBlobs = "/peer/blobs/"
)

// Blobs is how this host exchanges blobs of images with the others. It is safe for concurrent use.
type Blobs struct {
	leader    Leadership
	hostID    string
	now       func() time.Time
	handlers  *handlers
	client    *http.Client // its own: what streams over it delays no call
	addresses sync.Map     // id -> address, as the tracker last said
}

// NewBlobs returns the exchange of a member; Close ends its connections.
func NewBlobs(m *Member) *Blobs {
	b := &Blobs{leader: m.Leadership, hostID: m.cfg.HostID, now: m.cfg.Now, handlers: &m.api.handlers}
	b.client = (&peer.Dialer{Identity: m.cfg.Identity, Address: b.addressOf, Authorize: m.auth.authorizeAny}).HTTPClient()
	return b
}

func (b *Blobs) addressOf(host string) string {
	address, _ := b.addresses.Load(host)
	text, _ := address.(string)
	return text
}

// Close ends the connections to other hosts.
func (b *Blobs) Close() { b.client.CloseIdleConnections() }

// BlobHandler answers a host of the pool, by its id, that reads a blob; the wildcard "digest" of the request's path names it.
type BlobHandler func(w http.ResponseWriter, r *http.Request, host string)

// Serve sets the handler for other hosts that read blobs.
func (b *Blobs) Serve(h BlobHandler) { b.handlers.blobs.Store(&h) }

// Ask tells the leader's tracker what this host has, and asks where to get what it lacks.
func (b *Blobs) Ask(ctx context.Context, in blob.Request) (answer blob.Answer, err error) {
	err = b.leader.callLeader(ctx, pathBlobRequest, in, &answer, func(own *Server) error {
		answer = own.tracker.Ask(b.hostID, b.now(), in)
		return nil
	})
	for _, g := range answer.Grants {
		for _, p := range g.Peers {
			b.addresses.Store(p.Host, p.Address)
		}
	}
	return answer, err
}

// Changed is closed when another host leads, whose tracker knows nothing yet.
func (b *Blobs) Changed() <-chan struct{} { return b.leader.tracker.Changed() }

// Read reads bytes of a blob from a host that an answer of Ask has named; size is that of the whole blob. Errors wrap blob.ErrNotHere or blob.ErrBusy if the host says so.
// Nobody has checked what comes: see the digest.
func (b *Blobs) Read(ctx context.Context, host, digest string, offset, length int64) (body io.ReadCloser, size int64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+":0"+pathBlobs+digest, nil)
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	response, err := b.client.Do(request)
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

// blobRequestHandler answers the calls of hosts.
func blobRequestHandler(a *peerAPI) func(ctx context.Context, from string, in blob.Request) (blob.Answer, error) {
	return func(_ context.Context, from string, in blob.Request) (blob.Answer, error) {
		own, err := a.server.leading()
		if err != nil {
			return blob.Answer{}, err
		}
		return own.tracker.Ask(from, a.now(), in), nil
	}
}

// serveBlobs gives other hosts of the pool what this one has.
func serveBlobs(a *peerAPI) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, ok := a.authenticated(w, r)
		if !ok {
			return
		}
		if blobs := a.handlers.blobs.Load(); blobs != nil {
			(*blobs)(w, r, from)
			return
		}
		http.Error(w, "this host is starting", http.StatusServiceUnavailable)
	}
}

// reachable is where a host of the pool can be reached, empty while it is silent.
func (s *Server) reachable(hostID string) string {
	host := s.state.View().Host(hostID)
	if host == nil || !s.liveness.Connected(hostID) {
		return ""
	}
	return host.Address
}

// connectedHosts are the ids of the hosts that are connected.
func (s *Server) connectedHosts() (ids []string) {
	for _, h := range s.state.View().Hosts("") {
		if s.liveness.Connected(h.ID) {
			ids = append(ids, h.ID)
		}
	}
	return ids
}
