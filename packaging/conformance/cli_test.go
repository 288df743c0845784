package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cli is the AWS CLI: a process for each call.
type cli struct {
	site    *site
	program string
}

// cliVersions are the AWS CLIs of this machine by version, one of each: version 1 is a part of Python's packages,
// version 2 a program of its own, and both are called aws.
func cliVersions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, folder := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/bin", "/usr/local/bin") {
		program := filepath.Join(folder, "aws")
		out, err := exec.Command(program, "--version").Output()
		if err != nil {
			continue
		}
		if version := versionOfCLI.FindSubmatch(out); version != nil && found[string(version[1])] == "" {
			found[string(version[1])] = program
		}
	}
	return found
}

var (
	versionOfCLI = regexp.MustCompile(`^aws-cli/(\S+)`)
	refusedByCLI = regexp.MustCompile(`An error occurred \((\w+)\) when calling`)
	wordBegins   = regexp.MustCompile(`\B[A-Z]`)
)

func (c cli) call(operation, body string) (answer []byte, refusal string, err error) {
	command := strings.ToLower(wordBegins.ReplaceAllString(operation, "-$0"))
	answer, err = c.site.run(c.site.command(c.program, "ecs", command, "--cli-input-json", body, "--output", "json", "--no-paginate"))
	if err == nil {
		return answer, "", nil
	}
	if refused := refusedByCLI.FindStringSubmatch(err.Error()); refused != nil {
		return []byte(err.Error()), refused[1], nil
	}
	if strings.Contains(err.Error(), "Invalid choice") {
		err = errOlder
	}
	return nil, "", err
}

// testLoops runs the CLI's own waiters and paging, and looks at a refusal.
func (c cli) testLoops(t *testing.T) {
	const sh = `set -e
aws() { "$cli" "$@" --output text; }
definition=$(aws ecs register-task-definition --family loops --network-mode none --container-definitions "[$1]" --query taskDefinition.taskDefinitionArn)
run() { aws ecs run-task --task-definition loops --started-by loops --query 'tasks[0].taskArn'; }
first=$(run) second=$(run)
aws ecs wait tasks-running --tasks "$first" "$second"
aws ecs list-tasks --started-by loops --page-size 1 --query 'taskArns[]' | wc -w
aws ecs stop-task --task "$first" --query task.desiredStatus
aws ecs stop-task --task "$second" --query task.desiredStatus
aws ecs wait tasks-stopped --tasks "$first" "$second"
aws ecs deregister-task-definition --task-definition "$definition" --query taskDefinition.status`
	out, err := c.site.run(c.site.command("env", "cli="+c.program, "bash", "-c", sh, "loops", container))
	if _, refusal, err := c.call("DescribeTasks", `{"cluster":"nowhere","tasks":["t"]}`); refusal != noCluster {
		t.Errorf("an unknown cluster is refused with %q, %v", refusal, err)
	}
	if got := strings.Fields(string(out)); err != nil || strings.Join(got, " ") != "2 STOPPED STOPPED INACTIVE" {
		t.Errorf("%s\n%v", out, err)
	}
}
