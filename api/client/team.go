package client

import "context"

// Team is an owner of tasks in the queue, with its quota, weight and usage.
type Team struct {
	Name      string `json:"name"`           // "" is the team of tasks that name none
	Quota     *int   `json:"gpus,omitempty"` // GPUs that it gets before teams above their quotas; nil: it has no quota
	Weight    int    `json:"weight"`         // its share of what teams borrow, relative to other teams
	GPUsInUse int    `json:"gpusInUse"`      // GPUs that its tasks hold now
}

// Teams lists the teams that have a quota, a weight or GPUs in use, by name.
func (c *Client) Teams(ctx context.Context) ([]Team, error) {
	var teams []Team
	return teams, c.Get(ctx, "/v1/teams", nil, &teams)
}

// SetTeam sets the quota and the weight of a team; nil leaves each as it is.
func (c *Client) SetTeam(ctx context.Context, name string, quota, weight *int) (Team, error) {
	in := map[string]any{"name": name}
	if quota != nil {
		in["gpus"] = *quota
	}
	if weight != nil {
		in["weight"] = *weight
	}
	var team Team
	return team, c.Call(ctx, "admin/teams", in, &team)
}

// RemoveTeam removes the quota and the weight of a team. Its tasks stay.
func (c *Client) RemoveTeam(ctx context.Context, name string) error {
	return c.Call(ctx, "admin/teams/remove", map[string]any{"name": name}, nil)
}
