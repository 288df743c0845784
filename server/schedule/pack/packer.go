package pack

// Policy values hosts. A policy serves one Packer.
type Policy interface {
	// Score values a host that the shape fits on: the highest is chosen, of equals the first.
	Score(h *Host, s *Shape) float64

	// GPU is the index of the GPU of which the shape, which takes a share, gets its part.
	GPU(h *Host, s *Shape) int
}

// chooser is a policy that draws among the hosts that fit instead of valuing them.
type chooser interface {
	choose(fitting int) int
}

// learner is a policy whose scores follow the tasks that arrive.
type learner interface {
	// observe tells of a task before it is placed; true: the scores given so far are no longer true.
	observe(s *Shape) bool
}

// Packer places tasks one by one, each on the host that its policy values most.
type Packer struct {
	hosts    []Host
	policy   Policy
	rankings map[Shape]*ranking
	changed  []int32 // the hosts that were changed, in order
}

// NewPacker places on these hosts, which are the packer's from now on. Their order decides among equals.
func NewPacker(hosts []Host, policy Policy) *Packer {
	return &Packer{hosts: hosts, policy: policy, rankings: map[Shape]*ranking{}}
}

// Hosts are the hosts as they are now; only the packer changes them.
func (p *Packer) Hosts() []Host { return p.hosts }

// Place puts a task on a host, and returns the host's index and those of its GPUs, or false when it fits nowhere.
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

// Remove takes back what Place gave a task.
func (p *Packer) Remove(s Shape, host int, gpus []int) {
	p.hosts[host].release(&s, gpus)
	p.changed = append(p.changed, int32(host))
}

// ranking brings the scores for a shape up to date: only hosts that were changed since are asked about again.
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
