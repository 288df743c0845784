package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asTask runs boto3 as the first process of a task would: in its network namespace, and with the variables of its environment that begin with AWS_.
func (h *host) asTask(t *testing.T, id, script string) (string, error) {
	t.Helper()
	address := strings.TrimSpace(h.pinion(t, "exec", id, "--", "sh", "-c", "echo $AWS_CONTAINER_CREDENTIALS_FULL_URI"))
	if address == "" {
		t.Fatal("the task is told of no credentials")
	}
	processes, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range processes {
		raw, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(raw, []byte("="+address+"\x00")) {
			continue // it has ended, or is another's
		}
		command := exec.Command("nsenter", "--net="+filepath.Join(filepath.Dir(path), "ns", "net"), "python3", "-c", script)
		command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		for variable := range strings.SplitSeq(string(raw), "\x00") {
			if strings.HasPrefix(variable, "AWS_") {
				command.Env = append(command.Env, variable)
			}
		}
		return output(command)
	}
	t.Fatal("no process of the task is found")
	return "", nil
}

// An SDK in a task finds the pool, and an access key of the task's role, by itself.
func TestATaskUsesThePoolByItsRole(t *testing.T) {
	h := sharedHost(t)
	h.pinion(t, "role", "put", "--role", "read", "watcher")
	t.Cleanup(func() { h.tryPinion("role", "rm", "watcher") })
	id := h.runWithRole(t, "bridge")
	if out, err := h.asTask(t, id, `import boto3; print(boto3.client("ecs").list_tasks()["taskArns"])`); err != nil || !strings.Contains(out, id) {
		t.Errorf("list_tasks: %v %s", err, out)
	}
	if out, err := h.asTask(t, id, `import boto3; print(boto3.client("sts").get_caller_identity()["Arn"])`); err != nil || !strings.HasSuffix(strings.TrimSpace(out), ":assumed-role/watcher/"+id) {
		t.Errorf("get_caller_identity: %v %s", err, out)
	}
	if out, err := h.asTask(t, id, `import boto3; boto3.client("ecs").stop_task(task="`+id+`")`); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("stop_task, which its role may not: %v %s", err, out)
	}
	if out, err := h.asTask(t, id, `
import boto3
kept = boto3.Session().get_credentials().get_frozen_credentials()
print(boto3.client("ecs").list_tasks()["taskArns"])
boto3.client("ecs", aws_access_key_id=kept.access_key, aws_secret_access_key=kept.secret_key, aws_session_token=kept.token[:-4] + "AAAA").list_tasks()`); err == nil || !strings.Contains(out, id) || !strings.Contains(err.Error(), "UnrecognizedClient") {
		t.Errorf("with a token that was changed: %v %s", err, out)
	}
	if audit := h.pinion(t, "audit"); !strings.Contains(audit, "role watcher") {
		t.Errorf("the audit log: %s", audit)
	}
}

// On the network of the host every container with a raw socket could read the key of another.
func TestATaskOnTheNetworkOfItsHostIsToldOfNoKey(t *testing.T) {
	h := sharedHost(t)
	h.pinion(t, "role", "put", "--role", "read", "watcher")
	t.Cleanup(func() { h.tryPinion("role", "rm", "watcher") })
	id := h.runWithRole(t, "host")
	if env := h.pinion(t, "exec", id, "--", "env"); strings.Contains(env, "AWS_CONTAINER_CREDENTIALS") {
		t.Errorf("%s", env)
	}
	answer := h.pinion(t, "exec", id, "--", "sh", "-c", `wget -qO- http://169.254.170.2:51679/v2/credentials/${ECS_AGENT_URI##*/} 2>&1 || true`)
	if strings.Contains(answer, "SecretAccessKey") {
		t.Errorf("it is told when it asks: %s", answer)
	}
}

// runWithRole starts a task with the role watcher in a network mode.
func (h *host) runWithRole(t *testing.T, mode string) string {
	t.Helper()
	h.mustCall(t, "RegisterTaskDefinition", object{"family": "of-role", "networkMode": mode, "taskRoleArn": "arn:aws:iam::123456789012:role/watcher", "containerDefinitions": []object{
		{"name": "main", "image": "busybox", "memory": 64, "command": []string{"sh", "-c", "trap exit TERM; sleep 3600 & wait"}, "stopTimeout": 2}}})
	id := h.runTask(t, "of-role")
	t.Cleanup(func() { h.pinion(t, "stop", "--force", id) })
	h.waitStatus(t, id, "RUNNING")
	return id
}
