package run

import (
	"context"
	"slices"

	"pinion/api/cli/invocation"
	"pinion/api/cli/suggest"
	"pinion/api/client"
)

// warnOfTeam notes that the team of the tasks has neither a quota nor a weight, nor GPUs in use: its name may be mistyped, and a task may
// run for any. Who may not list teams gets no note.
func (r *request) warnOfTeam(ctx context.Context, inv *invocation.Invocation) {
	name := r.scheduling.Team
	if name == "" {
		return
	}
	teams, err := inv.Client.Teams(ctx)
	if err != nil || slices.ContainsFunc(teams, func(t client.Team) bool { return t.Name == name }) {
		return
	}
	var names []string
	for _, team := range teams {
		if team.Name != "" {
			names = append(names, team.Name)
		}
	}
	meant := ""
	if near := suggest.Nearest(name, names); near != "" {
		meant = "; did you mean " + near + "?"
	}
	inv.Notef("no team %s is set (`pinion team ls`)%s", name, meant)
}
