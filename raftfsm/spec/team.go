package spec

// Team is what a group of tasks (TagTeam) may use and how much it counts for. A team without a record has no quota and
// weight 1.
type Team struct {
	Name   string `json:"name"`
	GPUs   *int   `json:"gpus,omitempty"` // its quota: what it has a right to; nil: none, every GPU is as good as borrowed
	Weight int    `json:"weight"`         // 1 to MaxWeight: its part of what teams share
}

// MaxWeight is the highest weight of a team.
const MaxWeight = 1000
