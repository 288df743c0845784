package rolling

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// parse reads a pool, a word for each host: its name, a for an agent, s for a server or l for the leader, and its state: . pending, > under way, + done, ! failed,
// - left out. Behind that, x is for one without contact, p for one with a new problem, b for one that lacks entries of the log, u for one that has not said what it
// lacks, and n for one that has been well for less than the dwell.
func parse(text string) (hosts []Host) {
	for i, word := range strings.Fields(text) {
		name, rest, _ := strings.Cut(word, ":")
		h := Host{ID: fmt.Sprint("id-", i), Name: name, Connected: true, Steady: dwell, Role: Role(strings.IndexByte("asl", rest[0])), State: State(strings.IndexByte(".>+!-", rest[1]))}
		for _, is := range rest[2:] {
			switch is {
			case 'x':
				h.Connected = false
			case 'p':
				h.Problem = "a GPU is gone"
			case 'b':
				h.Behind = 7
			case 'u':
				h.Behind = Unknown
			case 'n':
				h.Steady = dwell - 1
			}
		}
		if h.State == Failed {
			h.Reason = "it ended"
		}
		hosts = append(hosts, h)
	}
	return hosts
}

// dwell is that of every test.
const dwell = 10 * time.Second

func TestWhatComesNext(t *testing.T) {
	for _, c := range []struct {
		name, pool string
		step       int
		verdict    Verdict
		start      string // names
	}{
		{"the first host goes alone", "d:a. c:a. b:s. a:l.", 2, Start, "c"},
		{"agents in steps, by their names", "f:a. e:a. d:a. c:a+ b:s. a:l.", 2, Start, "d e"},
		{"the rest of them", "d:a. c:a+ b:s. a:l.", 5, Start, "d"},
		{"a step of nothing is one", "e:a. d:a. c:a+ a:l.", 0, Start, "d"},
		{"then the servers one by one", "c:a+ s2:s. s1:s. a:l.", 5, Start, "s1"},
		{"the leader last", "c:a+ s1:s+ a:l.", 5, Start, "a"},
		{"all have it", "c:a+ s1:s+ a:l+", 1, Finish, ""},
		{"those that have it already are passed over", "d:a+ c:a+ s1:s. a:l.", 1, Start, "s1"},
		{"hosts that are left out", "d:a-x c:a. a:l-", 1, Start, "c"},
		{"one host alone", "a:l.", 1, Start, "a"},
		{"one is under way", "d:a. c:a> a:l.", 2, Wait, ""},
		{"one is under way beside one that has failed", "d:a! c:a> a:l.", 2, Wait, ""},
		{"one has failed", "d:a! c:a+ a:l.", 2, Stop, ""},
		{"one that has it is not back", "d:a. c:a+x a:l.", 1, Wait, ""},
		{"one that has it is not well", "d:a. c:a+p a:l.", 1, Wait, ""},
		{"the last one is not well", "c:a+ a:l+p", 1, Wait, ""},
		{"one that waits is away", "d:a.x c:a. a:l.", 1, Wait, ""},
		{"a earlier problem, or of one that has not begun, is no reason", "d:a.p c:a+ a:l.", 1, Start, "d"},
		{"a server is away", "d:a. c:a+ s:s.x a:l.", 1, Wait, ""},
		{"a server that is left out is away", "d:a. c:a+ s:s-x a:l.", 1, Wait, ""},
		{"a server that has the program lacks entries", "c:a+ s1:s+b s2:s. a:l.", 1, Wait, ""},
		{"a server that waits lacks entries", "c:a+ s1:s+ s2:s.b a:l.", 1, Wait, ""},
		{"a server that is left out lacks entries", "c:a. s1:s-b a:l.", 1, Wait, ""},
		{"a server has not said what it lacks", "c:a+ s1:s+u a:l.", 1, Wait, ""},
		{"agents wait for a server that lacks entries, too", "d:a. c:a+ s1:s.b a:l.", 1, Wait, ""},
		{"an agent has no log", "d:a. c:a+b a:l.", 1, Start, "d"},
		{"a server has not been well for the dwell", "c:a+ s1:s+n s2:s. a:l.", 1, Wait, ""},
		{"an agent has not been well for the dwell", "d:a. c:a+n a:l.", 1, Wait, ""},
		{"the last one has not been well for the dwell", "c:a+ a:l+n", 1, Wait, ""},
		{"only what has the program has to have been well", "d:a.n c:a+ s:s-n a:l.n", 1, Start, "d"},
		{"one has failed beside one that lacks entries", "c:a! s:s+b a:l.", 1, Stop, ""},
		{"no leader", "d:a. c:a+ s:s. a:s.", 1, Wait, ""},
		{"the leader is silent", "d:a. a:l.x", 1, Wait, ""},
		{"no host", "", 1, Wait, ""},
	} {
		hosts := parse(c.pool)
		got := Next(hosts, Pace{c.step, dwell})
		var started []string
		for _, id := range got.Start {
			started = append(started, hosts[slices.IndexFunc(hosts, func(h Host) bool { return h.ID == id })].Name)
		}
		if got.Verdict != c.verdict || strings.Join(started, " ") != c.start || (got.Why == "") != (c.verdict == Finish) || (got.Failed == "") != (c.verdict != Stop) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestHowFarAServerIsBehind(t *testing.T) {
	index := func(n uint64) *uint64 { return &n }
	for name, c := range map[string]struct {
		applied, leader *uint64
		want            int64
	}{
		"at the leader's":                 {index(9), index(9), 0},
		"beyond it: it leads now":         {index(12), index(9), 0},
		"behind":                          {index(2), index(9), 7},
		"it has just started":             {index(0), index(9), 9},
		"its version does not say":        {nil, index(9), 0},
		"the leader's version does not":   {index(2), nil, 0},
		"no version says":                 {nil, nil, 0},
		"nothing is in the log, nor here": {index(0), index(0), 0},
	} {
		if got := Behind(c.applied, c.leader); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// simulated is a pool in which whatever may happen to hosts does: they end their upgrades well or badly, crash and come back, lose contact, and lead or not.
type simulated struct {
	hosts []Host
	step  int
}

func (s *simulated) happens(t *rapid.T) {
	h := &s.hosts[rapid.IntRange(0, len(s.hosts)-1).Draw(t, "host")]
	for i := range s.hosts {
		s.hosts[i].Steady += dwell / 2
	}
	switch rapid.SampledFrom([]string{"ends", "ends", "ends", "fails", "crashes", "catches up", "catches up", "says", "away", "back", "back", "ill", "well", "leads"}).Draw(t, "what") {
	case "ends":
		if h.State == UnderWay {
			h.State, h.Steady = Done, 0
			if h.Role != Agent {
				h.Behind = Unknown
			}
		}
	case "crashes": // and is back before anybody looks
		if h.Steady = 0; h.Role != Agent {
			h.Behind = 1000
		}
	case "says":
		if h.Behind == Unknown {
			h.Behind = 5
		}
	case "catches up":
		if h.Behind > 0 {
			h.Behind = 0
		}
	case "fails":
		if h.State == UnderWay {
			h.State, h.Reason = Failed, "it ended"
		}
	case "away":
		h.Connected, h.Steady = false, 0
	case "back":
		h.Connected = true
	case "ill":
		h.Problem, h.Steady = "a GPU is gone", 0
	case "well":
		h.Problem = ""
	case "leads":
		if h.Role == Agent {
			return
		}
		for i := range s.hosts {
			if s.hosts[i].Role == Leader {
				s.hosts[i].Role = Server
			}
		}
		h.Role = Leader
	}
}

// Whatever happens, a step begins only in a pool that is whole: no two servers at once, none while another is away, lacks entries of the log or has just crashed with
// the program, agents before servers, the leader last, and nothing behind a host that has failed.
func TestAStepBeginsOnlyInAPoolThatIsWell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := simulated{step: rapid.IntRange(0, 4).Draw(t, "step")}
		for i := range rapid.IntRange(1, 9).Draw(t, "hosts") {
			role := rapid.SampledFrom([]Role{Agent, Server}).Draw(t, "role")
			if i == 0 {
				role = Leader
			}
			s.hosts = append(s.hosts, Host{ID: fmt.Sprint(i), Name: fmt.Sprint("gpu-", i), Role: role, Connected: true, Steady: dwell, State: rapid.SampledFrom([]State{Pending, Pending, Pending, Done, Left}).Draw(t, "state")})
		}
		for range 200 {
			before := slices.Clone(s.hosts)
			d := Next(s.hosts, Pace{s.step, dwell})
			if !slices.EqualFunc(before, s.hosts, func(a, b Host) bool { return a == b }) {
				t.Fatal("a decision changes what is known")
			}
			s.carryOut(t, d)
			s.happens(t)
		}
	})
}

// carryOut checks a decision against the hosts as they are, and starts what it says.
func (s *simulated) carryOut(t *rapid.T, d Decision) {
	count := func(is func(Host) bool) (n int) { return len(having(s.hosts, is)) }
	starts := func(h Host) bool { return slices.Contains(d.Start, h.ID) }
	servers := count(func(h Host) bool { return starts(h) && h.Role != Agent })
	switch d.Verdict {
	case Start:
		for name, wrong := range map[string]bool{
			"nothing starts":                       count(starts) == 0 || count(starts) != len(d.Start),
			"more than a step":                     len(d.Start) > max(s.step, 1),
			"what is not pending":                  count(func(h Host) bool { return starts(h) && h.State != Pending }) > 0,
			"two servers, or a server with agents": servers > 0 && len(d.Start) > 1,
			"while something is under way":         count(func(h Host) bool { return h.State == UnderWay }) > 0,
			"behind one that has failed":           count(func(h Host) bool { return h.State == Failed }) > 0,
			"while a server is away":               count(func(h Host) bool { return h.Role != Agent && !h.Connected }) > 0,
			"while a server lacks entries":         count(func(h Host) bool { return h.Role != Agent && h.Behind != 0 }) > 0,
			"behind one that has just crashed":     count(func(h Host) bool { return h.State == Done && h.Steady < dwell }) > 0,
			"one that is away":                     count(func(h Host) bool { return starts(h) && !h.Connected }) > 0,
			"while one with the program is ill":    count(func(h Host) bool { return h.State == Done && (!h.Connected || h.Problem != "") }) > 0,
			"no leader":                            count(func(h Host) bool { return h.Role == Leader && h.Connected }) != 1,
			"a server before an agent":             servers > 0 && count(func(h Host) bool { return h.Role == Agent && h.State == Pending }) > 0,
			"the leader before a server":           count(func(h Host) bool { return starts(h) && h.Role == Leader }) > 0 && count(func(h Host) bool { return h.Role != Leader && h.State == Pending }) > 0,
		} {
			if wrong {
				t.Fatalf("%s: %+v of %+v", name, d, s.hosts)
			}
		}
		for i := range s.hosts {
			if starts(s.hosts[i]) {
				s.hosts[i].State = UnderWay
			}
		}
	case Finish:
		if n := count(func(h Host) bool { return h.State != Done && h.State != Left || h.State == Done && h.Steady < dwell }); n > 0 {
			t.Fatalf("finished with %d hosts left: %+v", n, s.hosts)
		}
	case Stop:
		if count(func(h Host) bool { return h.State == Failed && h.ID == d.Failed }) != 1 {
			t.Fatalf("stopped at none that has failed: %+v of %+v", d, s.hosts)
		}
	}
}

// In a pool where everything goes well, every host gets the program, each once.
func TestAPoolWhereAllGoesWellIsFinished(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := parse("a:l. b:s. c:s.")
		for i := range rapid.IntRange(0, 20).Draw(t, "agents") {
			hosts = append(hosts, parse(fmt.Sprintf("agent-%d:a.", i))[0])
			hosts[len(hosts)-1].ID = fmt.Sprint("agent-", i)
		}
		step, begun := rapid.IntRange(1, 7).Draw(t, "step"), map[string]bool{}
		for range len(hosts) + 1 {
			d := Next(hosts, Pace{step, dwell})
			if d.Verdict == Finish {
				break
			}
			for i := range hosts {
				if slices.Contains(d.Start, hosts[i].ID) {
					if begun[hosts[i].ID] {
						t.Fatalf("%s twice", hosts[i].Name)
					}
					begun[hosts[i].ID], hosts[i].State = true, Done
				}
			}
		}
		if len(begun) != len(hosts) {
			t.Fatalf("%d of %d hosts", len(begun), len(hosts))
		}
	})
}
