package pack

// Policy scores hosts. A policy serves one Packer.
type Policy interface {
	// Score scores a host on which the shape fits: the highest score wins, the first among equals.
	Score(h *Host, s *Shape) float64

	// GPU returns the index of the GPU on which a shape with a share of a GPU is placed.
	GPU(h *Host, s *Shape) int
}

// chooser is a policy that draws among the hosts that fit instead of scoring them.
type chooser interface {
	choose(fitting int) int
}

// learner is a policy whose scores depend on the tasks that have arrived.
type learner interface {
	// observe records a task before it is placed; true: earlier scores are no longer valid.
	observe(s *Shape) bool
}

// Packer places tasks one by one, each on the host with the highest score of its policy.
type Packer struct {
	hosts    []Host
	policy   Policy
	rankings map[Shape]*ranking
	changed  []int32 // the hosts that were changed, in order
}

// NewPacker returns a packer for these hosts and takes ownership of them. Their order decides among equals.
func NewPacker(hosts []Host, policy Policy) *Packer {
	return &Packer{hosts: hosts, policy: policy, rankings: map[Shape]*ranking{}}
}

// Hosts returns the current hosts; only the packer may change them.
func (p *Packer) Hosts() []Host { return p.hosts }

// Place places a task and returns the indexes of its host and of its GPUs; false when it fits on no host.
func (p *Packer) Place(s Shape) (host int, gpus []int, ok bool) {
	if l, learns := p.policy.(learner); learns && l.observe(&s) {
		clear(p.rankings)
		p.changed = p.changed[:0]
	}
	b := p.ranking(&s)
	if c, draws := p.policy.(chooser); draws {
		host = b.draw(c)
	} else {
		host = b.best()
	}
	if host == noHost {
		return 0, nil, false
	}
	h := &p.hosts[host]
	gpu := 0
	if s.Shares() {
		gpu = p.policy.GPU(h, &s)
	}
	gpus = h.take(&s, gpu)
	p.changed = append(p.changed, int32(host))
	return host, gpus, true
}

// Remove releases what Place allocated to a task.
func (p *Packer) Remove(s Shape, host int, gpus []int) {
	p.hosts[host].release(&s, gpus)
	p.changed = append(p.changed, int32(host))
}

// ranking returns the up-to-date scores for a shape: only hosts that changed since its last use are scored again.
func (p *Packer) ranking(s *Shape) *ranking {
	b := p.rankings[*s]
	if b == nil {
		scores := make([]float64, len(p.hosts))
		for i := range scores {
			scores[i] = p.score(i, s)
		}
		b = newRanking(scores)
		p.rankings[*s] = b
	} else {
		for _, host := range p.changed[b.applied:] {
			b.set(int(host), p.score(int(host), s))
		}
	}
	b.applied = len(p.changed)
	return b
}

func (p *Packer) score(host int, s *Shape) float64 {
	h := &p.hosts[host]
	if !h.Fits(s) {
		return refused
	}
	return p.policy.Score(h, s)
}
