package client

import "context"

// Team is a team with its quota, its weight and the GPUs that its tasks hold.
type Team struct {
	Name      string `json:"name"` // "" is the team of tasks that name none
	Quota     *int   `json:"gpus,omitempty"`
	Weight    int    `json:"weight"`
	GPUsInUse int    `json:"gpusInUse"`
}

// Teams lists the teams that have a quota, a weight or GPUs in use, by name.
func (c *Client) Teams(ctx context.Context) ([]Team, error) {
	var teams []Team
	return teams, c.Get(ctx, "/v1/teams", nil, &teams)
}

// SetTeam changes the quota and the weight of a team; nil leaves each as it is.
func (c *Client) SetTeam(ctx context.Context, name string, gpus, weight *int) (Team, error) {
	in := map[string]any{"name": name}
	if gpus != nil {
		in["gpus"] = *gpus
	}
	if weight != nil {
		in["weight"] = *weight
	}
	var team Team
	return team, c.Call(ctx, "admin/teams", in, &team)
}

// RemoveTeam forgets the quota and the weight of a team.
func (c *Client) RemoveTeam(ctx context.Context, name string) error {
	return c.Call(ctx, "admin/teams/remove", map[string]any{"name": name}, nil)
}
