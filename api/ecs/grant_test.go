package ecs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// grantStore records what it is asked to run.
type grantStore struct {
	*stateStore
	run *spec.RunRequest
}

func (s *grantStore) Run(_ context.Context, r spec.RunRequest) (spec.RunResult, error) {
	s.run = &r
	return spec.RunResult{}, nil
}

// newGrantStore has a waiting task of each team in lab, with its name as id.
func newGrantStore(t testing.TB) *grantStore {
	s := newFamilies(t)
	for _, team := range []string{"", "vision", "speech"} {
		task := &spec.Task{ID: "task" + team, Cluster: "lab", Definition: "mine:1", LastStatus: spec.Provisioning, DesiredStatus: spec.Running, Version: 1}
		if team != "" {
			task.Tags, task.Group = []spec.Tag{{Key: spec.TagTeam, Value: team}, {Key: spec.TagPriority, Value: "90"}}, team+"-group"
		}
		answer, err := s.Propose(t.Context(), raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "lab", Tasks: []*spec.Task{task}}}})
		if err != nil || len(answer.([]raftfsm.LaunchResult)[0].Result.Tasks) != 1 {
			t.Fatal(answer, err)
		}
	}
	return &grantStore{stateStore: s}
}

func (s *grantStore) callWith(t testing.TB, grant accesskey.Grant, operation, body string) error {
	t.Helper()
	r := &Request{Region: "us-east-1", Principal: "me", Owner: "AKIA1", Grant: grant, MaxCount: 10, View: s.state.View(), Store: s, Now: func() time.Time { return time.Unix(1, 0) }}
	bound, err := Operations[operation].Prepare(r, []byte(body), wire.DecodeJSON)
	if err != nil {
		return err
	}
	_, err = bound.Run(t.Context())
	return err
}

// Whose quota, share and place in the queue a task counts for is the administrator's word, not the caller's.
func TestAKeyRunsTasksOfItsTeamsUpToItsPriority(t *testing.T) {
	ten := 10
	vision, both := accesskey.Grant{Teams: []string{"vision"}, MaxPriority: &ten}, accesskey.Grant{Teams: []string{"vision", "speech"}}
	for _, c := range []struct {
		grant    accesskey.Grant
		tags     string
		wantTeam string // "-": refused
	}{
		{vision, ``, "vision"}, {vision, `pinion.team=vision`, "vision"}, {vision, `pinion.team=speech`, "-"},
		{vision, `pinion.priority=10`, "vision"}, {vision, `pinion.priority=11`, "-"}, {vision, `pinion.team=vision pinion.priority=100`, "-"},
		{both, ``, "-"}, {both, `pinion.team=speech pinion.priority=100`, "speech"}, {both, `pinion.team=other`, "-"},
		{accesskey.Grant{}, `pinion.team=any pinion.priority=100`, "any"}, {accesskey.Grant{}, ``, ""},
	} {
		for _, operation := range []string{"RunTask", "StartTask"} {
			s := newGrantStore(t)
			var tags []string
			for word := range strings.FieldsSeq(c.tags) {
				key, value, _ := strings.Cut(word, "=")
				tags = append(tags, fmt.Sprintf(`{"key":%q,"value":%q}`, key, value))
			}
			body := `{"cluster":"lab","taskDefinition":"mine","containerInstances":["x"]`
			if len(tags) > 0 {
				body += `,"tags":[` + strings.Join(tags, ",") + `]`
			}
			err := s.callWith(t, c.grant, operation, body+"}")
			if c.wantTeam == "-" {
				if errorType(err) != wire.AccessDenied || s.run != nil {
					t.Errorf("%s with %q: %v", operation, c.tags, err)
				}
				continue
			}
			if err != nil || s.run == nil {
				t.Errorf("%s with %q: %v", operation, c.tags, err)
				continue
			}
			if options, _ := spec.ParseSchedulingOptions(s.run.Tags); options.Team != c.wantTeam || s.run.Key != "AKIA1" {
				t.Errorf("%s with %q runs for team %q of key %q", operation, c.tags, options.Team, s.run.Key)
			}
		}
	}
}

// The team of a definition's tags counts too, when they are propagated.
func TestATeamCannotComeFromTheDefinition(t *testing.T) {
	s := newGrantStore(t)
	definition := spec.TaskDefinition{Family: "tagged", Tags: []spec.Tag{{Key: spec.TagTeam, Value: "speech"}, {Key: spec.TagPriority, Value: "50"}}, Containers: []spec.ContainerDefinition{{Name: "c", Image: "i", Memory: 64}}}
	if _, err := s.Propose(t.Context(), raftfsm.RegisterDefinition{Definition: definition}); err != nil {
		t.Fatal(err)
	}
	err := s.callWith(t, accesskey.Grant{Teams: []string{"vision"}}, "RunTask", `{"cluster":"lab","taskDefinition":"tagged","propagateTags":"TASK_DEFINITION"}`)
	if errorType(err) != wire.AccessDenied || s.run != nil {
		t.Errorf("%v", err)
	}
}

func TestAKeyStopsAndTagsTasksOfItsTeamsOnly(t *testing.T) {
	ten := 10
	vision := accesskey.Grant{Teams: []string{"vision"}, MaxPriority: &ten}
	const arn = arnPrefix + "task/lab/"
	for body, allowed := range map[string]bool{
		`StopTask {"cluster":"lab","task":"taskvision"}`:                                                       true,
		`StopTask {"cluster":"lab","task":"taskspeech"}`:                                                       false,
		`StopTask {"cluster":"lab","task":"task"}`:                                                             false,
		`TagResource {"resourceArn":"` + arn + `taskvision","tags":[{"key":"a","value":"b"}]}`:                 true,
		`TagResource {"resourceArn":"` + arn + `taskspeech","tags":[{"key":"a","value":"b"}]}`:                 false,
		`TagResource {"resourceArn":"` + arn + `taskspeech","tags":[{"key":"pinion.team","value":"vision"}]}`:  false,
		`TagResource {"resourceArn":"` + arn + `taskvision","tags":[{"key":"pinion.team","value":"speech"}]}`:  false,
		`TagResource {"resourceArn":"` + arn + `taskvision","tags":[{"key":"pinion.priority","value":"100"}]}`: false,
		`TagResource {"resourceArn":"` + arn + `taskvision","tags":[{"key":"pinion.priority","value":"5"}]}`:   true,
		`UntagResource {"resourceArn":"` + arn + `taskvision","tagKeys":["pinion.team"]}`:                      false,
		`UntagResource {"resourceArn":"` + arn + `taskvision","tagKeys":["pinion.priority"]}`:                  true,
		`UntagResource {"resourceArn":"` + arn + `taskspeech","tagKeys":["a"]}`:                                false,
	} {
		s := newGrantStore(t)
		before := s.index
		operation, input, _ := strings.Cut(body, " ")
		err := s.callWith(t, vision, operation, input)
		if denied := errorType(err) == wire.AccessDenied; denied == allowed || denied && s.index != before {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestNamesWithControlCharactersAndAnEmptyTeamAreRefused(t *testing.T) {
	for _, member := range []string{`"group":"a\u001b[2J"`, `"startedBy":"a\nb"`, `"tags":[{"key":"pinion.team","value":""}]`} {
		s := newGrantStore(t)
		err := s.callWith(t, accesskey.Grant{}, "RunTask", `{"cluster":"lab","taskDefinition":"mine",`+member+`}`)
		if !slices.Contains([]string{wire.InvalidParameter}, errorType(err)) || s.run != nil {
			t.Errorf("%s: %v", member, err)
		}
	}
}
