package server

import (
	"errors"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// A definition may name the secrets of every team. A task has those of the team that the pool has recorded for it, by each of the ways that a host has
// to ask for them, and the others are as if they were not there.
func TestATaskGetsTheSecretsOfItsTeamAlone(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.keep("db", `{"username":"me","password":"`+secretText+`"}`)
	leader := p.leader().member.localServer()
	kept := *secret.Find(p.view(), valuefrom.SecretsManager, "db")
	kept.Teams = secret.NewTeams([]string{"vision", "audio"})
	apply(t, leader, raftfsm.Wrap(secret.Replace{Secret: kept}))

	definition := apply(t, leader, raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "secretive", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{
		Name: "main", Image: "pinion/self", CPU: 1, Memory: 1,
		Secrets:               []valuefrom.Secret{{Name: "DB", ValueFrom: "db"}},
		RepositoryCredentials: &valuefrom.RepositoryCredentials{CredentialsParameter: "arn:aws:secretsmanager:r:1:secret:db"},
		LogConfiguration:      &logdriver.Configuration{LogDriver: logdriver.JSONFile, SecretOptions: []valuefrom.Secret{{Name: "splunk-token", ValueFrom: "db"}}},
	}}}}).(*spec.TaskDefinition)
	eventually(t, "the host is connected", func() bool { return p.leader().member.Connected(p.hosts[0].cfg.HostID) })
	own := p.hosts[0].member.TaskSecrets
	for team, gets := range map[string]bool{"vision": true, "audio": true, "speech": false, "vis": false, "": false} {
		request := runOf(definition.Name())
		if team != "" {
			request.Tags = []spec.Tag{{Key: spec.TagTeam, Value: team}}
		}
		task := run(t.Context(), t, leader, request).Tasks[0]
		for what, ask := range map[string]func() ([]valuefrom.Value, error){
			"secrets":      func() ([]valuefrom.Value, error) { return own.Secrets(t.Context(), task.ID, []string{"main"}) },
			"log options":  func() ([]valuefrom.Value, error) { return own.LogOptions(t.Context(), task.ID, []string{"main"}) },
			"registry key": func() ([]valuefrom.Value, error) { return own.RegistryLogins(t.Context(), task.ID, []string{"main"}) },
		} {
			values, err := ask()
			if gets != (err == nil && len(values) == 1) {
				t.Errorf("%s of a task of team %q: %v, %v", what, team, values, err)
			}
			if !gets && (!errors.Is(err, valuefrom.ErrUnresolved) || strings.Contains(err.Error(), "vision") || strings.Contains(err.Error(), "audio")) {
				t.Errorf("%s of a task of team %q: the error %v", what, team, err)
			}
		}
		apply(t, leader, raftfsm.StopTask{ID: task.ID, Code: spec.StopUserInitiated})
	}
}
