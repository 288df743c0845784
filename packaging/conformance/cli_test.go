package conformance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// awsCLI is the AWS CLI: a process for each call.
type awsCLI struct {
	t       *testing.T
	pool    *testPool
	program string
	options []string // for every call
}

// newCLI is the AWS CLI of that version. Before 2.13 it does not read AWS_ENDPOINT_URL_ECS and has to be told.
func newCLI(t *testing.T, s *testPool, version, program string) awsCLI {
	c := awsCLI{t: t, pool: s, program: program}
	if minor, ok := strings.CutPrefix(version, "2."); ok {
		minor, _, _ = strings.Cut(minor, ".")
		if n, err := strconv.Atoi(minor); err == nil && n < 13 {
			c.options = []string{"--endpoint-url", s.env["AWS_ENDPOINT_URL_ECS"]}
		}
	}
	return c
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
	versionOfCLI          = regexp.MustCompile(`^aws-cli/(\S+)`)
	errorOfCLI            = regexp.MustCompile(`An error occurred \((\w+)\) when calling`)
	unknownParameterOfCLI = regexp.MustCompile(`Unknown parameter in input: "(\w+)"`)
	wordStart             = regexp.MustCompile(`\B[A-Z]`)
)

func (c awsCLI) call(operation, body string) (answer []byte, refusal string, err error) {
	command := strings.ToLower(wordStart.ReplaceAllString(operation, "-$0"))
	arguments := append([]string{c.program, "ecs", command, "--cli-input-json", body, "--output", "json", "--no-paginate"}, c.options...)
	answer, err = c.pool.run(c.pool.command(arguments...))
	if err == nil {
		return answer, "", nil
	}
	if refused := errorOfCLI.FindStringSubmatch(err.Error()); refused != nil {
		return []byte(err.Error()), refused[1], nil
	}
	if unknown := unknownParameterOfCLI.FindStringSubmatch(err.Error()); unknown != nil {
		c.t.Logf("NOT TESTED: %s of %s, which this version does not know", unknown[1], operation)
		return c.call(operation, withoutMember(c.t, body, unknown[1]))
	}
	if strings.Contains(err.Error(), "Invalid choice") || strings.Contains(err.Error(), "Unknown parameter in ") {
		err = errClientTooOld
	}
	return nil, "", err
}

// withoutMember is the JSON object less a member that it has.
func withoutMember(t *testing.T, body, member string) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &members); err != nil || members[member] == nil {
		t.Fatalf("the client does not know %q, and it is not in %s: %v", member, body, err)
	}
	delete(members, member)
	rest, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(rest)
}

// testLoops runs the CLI's own waiters and paging, and looks at a refusal.
func (c awsCLI) testLoops(t *testing.T) {
	const sh = `set -e
aws() { "$cli" "$@" $options --output text; }
definition=$(aws ecs register-task-definition --family loops --network-mode none --container-definitions "[$1]" --query taskDefinition.taskDefinitionArn)
run() { aws ecs run-task --task-definition loops --started-by loops --query 'tasks[0].taskArn'; }
first=$(run) second=$(run)
aws ecs wait tasks-running --tasks "$first" "$second"
aws ecs list-tasks --started-by loops --page-size 1 --query 'taskArns[]' | wc -w
aws ecs stop-task --task "$first" --query task.desiredStatus
aws ecs stop-task --task "$second" --query task.desiredStatus
aws ecs wait tasks-stopped --tasks "$first" "$second"
aws ecs create-service --service-name loops --task-definition "$definition" --desired-count 1 --tags key=pinion.healthy-after,value=1s --query service.status
aws ecs wait services-stable --services loops
aws ecs update-service --service loops --desired-count 0 --query service.desiredCount
aws ecs delete-service --service loops --query service.serviceName
aws ecs wait services-inactive --services loops
aws ecs deregister-task-definition --task-definition "$definition" --query taskDefinition.status`
	out, err := c.pool.run(c.pool.command("env", "cli="+c.program, "options="+strings.Join(c.options, " "), "bash", "-c", sh, "loops", container))
	if _, refusal, err := c.call("DescribeTasks", `{"cluster":"nowhere","tasks":["t"]}`); refusal != clusterNotFound {
		t.Errorf("an unknown cluster is refused with %q, %v", refusal, err)
	}
	if got := strings.Fields(string(out)); err != nil || strings.Join(got, " ") != "2 STOPPED STOPPED ACTIVE 0 loops INACTIVE" {
		t.Errorf("%s\n%v", out, err)
	}
}
