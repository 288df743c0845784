package secret

import (
	"slices"
	"strings"
)

// TagTeams is the tag that says at its creation which teams a secret is for, with blanks between. Without it, it is for those of the key that creates it.
const TagTeams = "pinion.teams"

// NewTeams are teams as Secret.Teams has them: sorted, each once.
func NewTeams(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// IsFor reports whether tasks of a team in a cluster may use it. A task without a team is of the team "".
func (s *Secret) IsFor(cluster, team string) bool {
	return s.Clusters.Has(cluster) && (len(s.Teams) == 0 || slices.Contains(s.Teams, team))
}

// MeetsTeams reports whether it is for one of these teams at least; no teams stand for all of them.
func (s *Secret) MeetsTeams(teams []string) bool {
	return len(s.Teams) == 0 || len(teams) == 0 || slices.ContainsFunc(s.Teams, func(team string) bool { return slices.Contains(teams, team) })
}

// OwnedByTeams reports whether it is for these teams alone; no teams stand for all of them. What is for all teams is owned by all of them only.
func (s *Secret) OwnedByTeams(teams []string) bool {
	return len(teams) == 0 || len(s.Teams) > 0 && !slices.ContainsFunc(s.Teams, func(team string) bool { return !slices.Contains(teams, team) })
}

// TeamsText names teams for people.
func TeamsText(teams []string) string {
	switch len(teams) {
	case 0:
		return "all teams"
	case 1:
		return "the team " + teams[0]
	}
	return "the teams " + strings.Join(teams, ", ")
}
