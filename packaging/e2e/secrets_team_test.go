package e2e

import (
	"crypto/rand"
	"os/exec"
	"strings"
	"testing"
)

// asTeam is a function that runs pinion with a key of the role submit for a team, over the network.
func (h *host) asTeam(t *testing.T, team string) func(stdin string, arguments ...string) (string, error) {
	t.Helper()
	key := decode(t, h.pinion(t, "key", "create", "--role", "submit", "--team", team, "-o", "json"))
	t.Cleanup(func() { h.pinion(t, "key", "rm", key.text("accessKeyId")) })
	as := []string{"--host", h.listen, "--ca", h.envMap(t)["AWS_CA_BUNDLE"], "--key-id", key.text("accessKeyId"), "--secret", key.text("secretAccessKey")}
	return func(stdin string, arguments ...string) (string, error) {
		command := exec.Command(binary, append(as[:len(as):len(as)], arguments...)...)
		command.Stdin = strings.NewReader(stdin)
		return output(command)
	}
}

// Two teams share a cluster: what one keeps is for its own tasks, and the other, with a key of its own and a definition that names it, gets nowhere.
func TestATeamKeepsItsSecretsFromTheOthersOfItsCluster(t *testing.T) {
	h := sharedHost(t)
	vision, speech := h.asTeam(t, "vision"), h.asTeam(t, "speech")
	value := rand.Text()
	if out, err := vision(value, "secret", "put", "team-db"); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	t.Cleanup(func() { h.pinion(t, "secret", "rm", "--force", "team-db") })
	h.registerShell(t, "team-secretive", 0, `printf %s "$DB" | sha256sum | cut -c1-64`, object{"secrets": []object{{"name": "DB", "valueFrom": "team-db"}}})
	if out, err := vision("", "run", "team-secretive"); err != nil || "DB "+out != told("DB", value) {
		t.Errorf("a task of the team has %q, %v", out, err)
	}
	if out, err := speech("", "run", "team-secretive"); err == nil || out != "" || !strings.Contains(err.Error(), "team-db") || strings.Contains(err.Error(), value) {
		t.Errorf("a task of the other team has %q, %v", out, err)
	}
	h.mustCall(t, "RunTask", object{"taskDefinition": "team-secretive"}) // of no team
	eventually(t, "a task of no team does not start", func() bool {
		return strings.Count(h.pinion(t, "ps", "-a", "-o", "json"), "unable to pull secrets") >= 2
	})
	for line, says := range map[string]string{"secret ls -q": "", "secret get team-db": "find the specified secret", "secret put team-db": "choose another name", "secret rm team-db": "find the specified secret"} {
		out, err := speech("mine", strings.Fields(line)...)
		if out != "" || (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("the other team: %s: %q, %v", line, out, err)
		}
	}
	if out, err := vision("", "secret", "get", "team-db"); err != nil || out != value {
		t.Errorf("the team reads %q, %v", out, err)
	}
	if out := h.pinion(t, "secret", "ls", "--filter", "name=team-db", "--format", "{{.TEAMS}}"); out != "vision\n" {
		t.Errorf("it is for %q", out)
	}
}
