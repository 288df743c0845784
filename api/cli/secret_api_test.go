package cli

import (
	"context"
	"strings"
	"testing"

	"pinion/api/cli/exit"
	"pinion/raftfsm/secret"
)

// plainSealer keeps values as they are.
type plainSealer struct{}

func (plainSealer) Seal(_ context.Context, _ *secret.Secret, v *secret.Version, value string) error {
	v.Sealed, v.Seal = []byte(value), "none"
	return nil
}

func (plainSealer) Open(_ context.Context, _ *secret.Secret, v *secret.Version) (string, error) {
	return string(v.Sealed), nil
}

// The real API takes what the commands send, and they understand what it answers.
func TestTheAPIServesEveryCommandAboutSecrets(t *testing.T) {
	h, _ := newAPIHost(t)
	for _, c := range []struct{ line, input, says string }{
		{"secret put prod/db --description first --for-cluster default", "one", "prod/db "},
		{"secret put prod/db --description second --for-cluster default", "two\n", "prod/db "},
		{"secret put prod/db", "\xff\x00", "prod/db "},
		{"secret get prod/db", "", "\xff\x00"},
		{"secret get prod/db --stage AWSPREVIOUS", "", "two\n"},
		{"secret ls --format {{.NAME}},{{.CLUSTERS}},{{.DESCRIPTION}}", "", "prod/db,default,second"},
		{"secret put token --for-team vision,speech", "x", "token "},
		{"secret put token --for-team speech --for-team vision", "y", "token "},
		{"secret ls --filter name=token --format {{.TEAMS}}", "", "speech,vision\n"},
		{"secret rm --force token", "", "token"},
		{"secret versions prod/db --format {{.STAGES}}", "", "AWSCURRENT\nAWSPREVIOUS\n\n"},
		{"run -d --secret DB=prod/db --secret-files /run/secrets pinion/self", "", ""},
		{"secret rm prod/db", "", "prod/db"},
		{"secret ls -q", "", ""},
		{"secret ls --all --format {{.NAME}},{{.REMOVED}}", "", "prod/db,"},
		{"secret restore prod/db", "", "prod/db"},
		{"secret get prod/db", "", "\xff\x00"},
		{"secret rm --force prod/db", "", "prod/db"},
	} {
		got := pinionReading(t, h, c.input, strings.Fields(c.line)...)
		if got.code != 0 || !strings.Contains(got.out, c.says) {
			t.Errorf("pinion %s: want %q in %+v", c.line, c.says, got)
		}
	}
	if got := pinion(t, h, "secret", "get", "prod/db"); got.code != exit.Failure || !strings.Contains(got.err, "can't find the specified secret") {
		t.Errorf("it is gone for good: %+v", got)
	}
}

func TestTheAPIRefusesWhatTheCommandsExplain(t *testing.T) {
	h, _ := newAPIHost(t)
	for _, c := range []struct{ line, says string }{
		{"secret put db", ""},
		{"secret rm db", "It can be restored until"},
		{"secret put db", "it was removed: `pinion secret restore db`"},
		{"secret get db", "it was removed: `pinion secret restore db`"},
		{"secret put db2 --for-cluster nowhere", "which does not exist"},
		{"secret get nothing", "secret nothing: Secrets Manager can't find"},
	} {
		if got := pinionReading(t, h, "value", strings.Fields(c.line)...); !strings.Contains(got.err, c.says) || (got.code == 0) != (c.says == "" || strings.Contains(c.says, "until")) {
			t.Errorf("pinion %s: want %q in %+v", c.line, c.says, got)
		}
	}
}
