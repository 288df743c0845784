// Package tracker knows which hosts of the pool have which blobs of images, and decides which of them fetches what from a registry, so
// that it gives each piece once. It is the leader's, in memory: a new leader is told anew. See docs/images.md.
package tracker

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"pinion/raftfsm/blob"
	"pinion/raftfsm/spec"
)

const (
	// silence is how long a host that fetches a blob may say nothing until its pieces are given to others.
	silence = 10 * time.Second
	// stall is how long a host may bring none of the pieces that it is to fetch until another one gets them too, and leaseTime how long it may
	// take for one of them until it is given no more of the blob: eight of 4 MiB at a time over 1 MB/s take 34 s. Longer pieces have more.
	stall     = time.Minute
	leaseTime = 10 * time.Minute
	// heldFor is how long a host counts as having what it has said that it has; hosts say something every minute.
	heldFor = 3 * time.Minute
	// settleTime is how long a new tracker waits for hosts to tell what they have.
	settleTime = 10 * time.Second
	// maxBlobs bounds the blobs that are being fetched at a time.
	maxBlobs = 10000
	// maxTake bounds the pieces that one call gives a host to fetch.
	maxTake = 16
	// maxLeases bounds the pieces of one blob that hosts are to fetch and have not brought, all of them together: the more are on their way over one link, the
	// later comes the first.
	maxLeases = 16
)

// Tracker is safe for concurrent use.
type Tracker struct {
	config Config
	epoch  string
	began  time.Time // zero: it was not asked yet

	mu    sync.Mutex
	blobs map[string]*transfer       // by digest: those that hosts fetch
	hosts map[string]*hostBlobs      // by id
	held  map[string]map[string]bool // digest -> ids of the hosts that have it whole
}

// hostBlobs is a host that has said what it has.
type hostBlobs struct {
	told   bool // since this tracker began
	seen   time.Time
	held   map[string]bool
	images *blob.Images // nil: it has named none yet
}

// Config has the facts of the pool that a tracker uses.
type Config struct {
	// Address is the address of a host, empty while it cannot be reached.
	Address func(host string) string
	// Connected lists the ids of the hosts that are connected.
	Connected func() []string
	// Kept lists the images that a host is to keep; nil: the tracker does not say.
	Kept func(host string) *blob.Images
	// Cluster is the cluster of a host; nil: it is not known.
	Cluster func(host string) *spec.Cluster
}

// New returns a tracker that knows nothing yet.
func New(c Config) *Tracker {
	return &Tracker{
		config: c, epoch: rand.Text(),
		blobs: map[string]*transfer{}, hosts: map[string]*hostBlobs{}, held: map[string]map[string]bool{},
	}
}

// Restart forgets everything, for a new term of the leader.
func (t *Tracker) Restart() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epoch, t.began = rand.Text(), time.Time{}
	t.blobs, t.hosts, t.held = map[string]*transfer{}, map[string]*hostBlobs{}, map[string]map[string]bool{}
}

// AnswerHost takes in what a host tells, and answers it. Nothing of it is remembered for a host that says nothing for three minutes. The
// caller has made sure of its id.
func (t *Tracker) AnswerHost(host string, now time.Time, r blob.Request) blob.Answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(now)
	t.recordBlobs(host, now, r)
	r.Wants = r.Wants[:min(len(r.Wants), blob.MaxWants)]
	answer := blob.Answer{Epoch: t.epoch, Settling: t.settling(now), Grants: make([]blob.Sources, 0, len(r.Wants))}
	for _, w := range r.Wants {
		answer.Grants = append(answer.Grants, t.grant(host, now, w))
	}
	answer.AgainMillis = t.pace(r)
	if len(r.Wants) == 0 {
		answer.Kept = t.config.Kept(host)
	}
	if r.Tag != "" {
		answer.ResolvedTag = t.resolvedTag(host, now, r.Tag)
	}
	return answer
}

// settling reports whether hosts that are connected may have blobs which they have not told of since this tracker began.
func (t *Tracker) settling(now time.Time) bool {
	if t.began.IsZero() {
		t.began = now
	}
	return now.Sub(t.began) < settleTime && slices.ContainsFunc(t.config.Connected(), func(id string) bool { return t.hosts[id] == nil || !t.hosts[id].told })
}

// pace is how long a host waits until it asks again: the more hosts fetch, the longer, so that all of them together ask the leader
// some 100 times a second.
func (t *Tracker) pace(r blob.Request) int {
	fetching := 0
	for _, w := range r.Wants {
		if b := t.blobs[w.Digest]; b != nil {
			fetching = max(fetching, len(b.hosts))
		}
	}
	return min(max(100, 10*fetching), 3000)
}

// recordBlobs records what blobs a host has.
func (t *Tracker) recordBlobs(host string, now time.Time, r blob.Request) {
	h := t.hosts[host]
	if h == nil {
		h = &hostBlobs{held: map[string]bool{}}
		t.hosts[host] = h
	}
	h.seen = now
	if r.Full {
		t.dropHeld(host, h)
		h.told = true
	}
	if r.Images != nil {
		h.images = &blob.Images{List: validImages(r.Images.List)}
	}
	if r.Epoch != t.epoch && !r.Full {
		return // what it names has come since it told another tracker
	}
	for _, digest := range r.Held {
		if len(h.held) >= blob.MaxHeld {
			break
		}
		if !blob.ValidDigest(digest) {
			continue
		}
		h.held[digest] = true
		if t.held[digest] == nil {
			t.held[digest] = map[string]bool{}
		}
		t.held[digest][host] = true
	}
}

func (t *Tracker) dropHeld(host string, h *hostBlobs) {
	for digest := range h.held {
		delete(t.held[digest], host)
		if len(t.held[digest]) == 0 {
			delete(t.held, digest)
		}
	}
	h.held = map[string]bool{}
}

// forget drops hosts that have been silent for too long.
func (t *Tracker) forget(now time.Time) {
	for id, h := range t.hosts {
		if now.Sub(h.seen) > heldFor {
			t.dropHeld(id, h)
			delete(t.hosts, id)
		}
	}
	for digest, b := range t.blobs {
		b.forget(now)
		if len(b.hosts) == 0 {
			delete(t.blobs, digest)
		}
	}
}

// grant says where a host gets one blob from.
func (t *Tracker) grant(host string, now time.Time, w blob.Want) blob.Sources {
	count := blob.Count(w.Size)
	b := t.blobs[w.Digest]
	if w.Size == 0 {
		peers, _ := t.peers(host, new(transfer), w, count)
		return blob.Sources{Peers: peers}
	}
	if w.Size < 0 || w.Size > blob.MaxSize || !blob.ValidDigest(w.Digest) {
		return blob.Sources{Whole: true} // by itself, as if there were no tracker
	}
	if b == nil && len(t.blobs) >= maxBlobs || b != nil && b.size != w.Size {
		// Of the sizes that two manifests name one is a lie, which the digest will tell; it keeps no host from those that have the blob.
		peers, _ := t.peers(host, new(transfer), w, count)
		return blob.Sources{Whole: true, Peers: peers}
	}
	if b == nil {
		b = &transfer{size: w.Size, hosts: map[string]*fetch{}, barred: map[string]bool{}}
		t.blobs[w.Digest] = b
	}
	f := b.record(host, now, w, count)
	peers, available := t.peers(host, b, w, count)
	if b.barred[host] {
		return blob.Sources{Whole: true, Peers: peers, Coming: b.coming(host, now, w)} // by itself, and nobody waits for it
	}
	return blob.Sources{Peers: peers, Take: b.take(f, now, w, count, available), Whole: b.takeWhole(host, now, w, count, available), Coming: b.coming(host, now, w)}
}

// peers are hosts with pieces that this one lacks, at random, and all the pieces that any host has which it can reach.
func (t *Tracker) peers(host string, b *transfer, w blob.Want, count int) ([]blob.Peer, blob.Pieces) {
	avoid := map[string]bool{host: true}
	for _, id := range w.Avoid {
		avoid[id] = true
	}
	var found []blob.Peer
	available := blob.NewPieces(count)
	add := func(id string, has blob.Pieces) {
		if avoid[id] || !has.HasOther(w.Have) {
			return
		}
		if address := t.config.Address(id); address != "" {
			found = append(found, blob.Peer{Host: id, Address: address, Has: has})
			available.Merge(has)
		}
	}
	for id := range t.held[w.Digest] {
		add(id, blob.AllPieces(count))
	}
	for id, f := range b.hosts {
		if !t.held[w.Digest][id] {
			add(id, f.share)
		}
	}
	mathrand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found[:min(len(found), blob.MaxPeers)], available
}
