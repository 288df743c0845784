package membership

import "testing"

// A host is written as letters: w wanted, c configured, v votes, r runs Raft.
func TestWhatIsDoneNextForAHost(t *testing.T) {
	for _, c := range []struct {
		host string
		role Role
		next Step
		name string
	}{
		{"", RoleAgent, StepNone, "an agent stays one"},
		{"w", RoleJoining, StepStart, "a host that is wanted starts Raft"},
		{"wr", RoleJoining, StepAdd, "Raft runs: the leader lets it in"},
		{"wc", RoleJoining, StepPromote, "a host that was let in and restarts"},
		{"wcr", RoleJoining, StepPromote, "it has caught up"},
		{"wcv", RoleServer, StepNone, "a server that is down keeps its vote"},
		{"wcvr", RoleServer, StepNone, "a server"},
		{"cvr", RoleServer, StepDemote, "a server that is not wanted any more"},
		{"cv", RoleServer, StepDemote, "or is gone"},
		{"cr", RoleAgent, StepRemove, "it has no vote any more"},
		{"c", RoleAgent, StepRemove, "nor Raft"},
		{"r", RoleAgent, StepStop, "it is neither wanted nor configured"},
	} {
		state := RoleState{}
		for _, letter := range c.host {
			*map[rune]*bool{'w': &state.Desired, 'c': &state.Configured, 'v': &state.Voter, 'r': &state.Running}[letter] = true
		}
		if role, next := state.Role(), state.Next(); role != c.role || next != c.next {
			t.Errorf("%s: %+v is %s, next %q; not %s, next %q", c.name, state, role, next, c.role, c.next)
		}
	}
}

// Following the steps, and nothing else, every host ends as what the pool wants, and never loses its log while it votes.
func TestTheStepsLeadFromAnyStateToTheWantedOne(t *testing.T) {
	for bits := range 16 {
		state := RoleState{Desired: bits&1 > 0, Configured: bits&2 > 0, Voter: bits&4 > 0, Running: bits&8 > 0}
		if state.Voter && !state.Configured {
			continue // a vote is in the configuration
		}
		start, steps := state, 0
		for step := state.Next(); step != StepNone; step = state.Next() {
			if steps++; steps > 4 {
				t.Fatalf("%+v does not come to rest: %+v", start, state)
			}
			switch step {
			case StepStart:
				state.Running = true
			case StepAdd:
				state.Configured = true
			case StepPromote:
				state.Voter = true
			case StepDemote:
				state.Voter = false
			case StepRemove:
				state.Configured = false
			case StepStop:
				if state.Configured || state.Desired {
					t.Errorf("%+v loses its log", state)
				}
				state.Running = false
			}
		}
		if state.Desired != (state.Role() == RoleServer) || !state.Desired && state.Configured {
			t.Errorf("%+v ends as %+v", start, state)
		}
	}
}
