package membership

// RoleState is a host's part among the pool's servers: what is recorded, what Raft has, and what runs on the host. Each
// part is changed by one reconciler, which compares it with the others and takes the next step; every step is safe to
// repeat.
//
//	               AddNonvoter           Promote
//	agent --wanted--> joining ---------> server (votes)
//	  ^  StartRaft       |                  |
//	  |                  |Remove            | Demote
//	  +----StopRaft------+------------------+ no longer wanted
type RoleState struct {
	Desired    bool // Host.Server: the pool wants a server there
	Configured bool // it is in Raft's configuration
	Voter      bool // with a vote
	Running    bool // Raft runs on the host
}

// Role is what people are told of a host.
type Role string

// Roles of a host.
const (
	RoleLeader  Role = "leader"
	RoleServer  Role = "server"
	RoleJoining Role = "joining" // it becomes a server
	RoleAgent   Role = "agent"
)

// Role is the role of a host that does not lead.
func (r RoleState) Role() Role {
	switch {
	case r.Voter:
		return RoleServer
	case r.Desired:
		return RoleJoining
	}
	return RoleAgent
}

// Step is what has to be done next for a host.
type Step string

// The steps, and who takes each.
const (
	StepNone    Step = ""
	StepStart   Step = "start Raft"         // the host
	StepAdd     Step = "add without a vote" // the leader
	StepPromote Step = "give a vote"        // autopilot, when the number of votes stays odd
	StepDemote  Step = "take the vote"      // autopilot, likewise
	StepRemove  Step = "remove from Raft"   // the leader
	StepStop    Step = "stop Raft and wipe" // the host, when the leader itself has confirmed it
)

// Next is the next step. A host starts an empty Raft before it is let in, and loses its log only when it is neither wanted
// nor configured, so a vote that was given is never forgotten while it counts.
func (r RoleState) Next() Step {
	switch {
	case r.Desired && r.Voter:
		return StepNone
	case r.Desired && r.Configured:
		return StepPromote
	case r.Desired && r.Running:
		return StepAdd
	case r.Desired:
		return StepStart
	case r.Voter:
		return StepDemote
	case r.Configured:
		return StepRemove
	case r.Running:
		return StepStop
	}
	return StepNone
}
