package many

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// bareMachine gives the process a file system in which nothing of Pinion is installed, as a machine has it, and runs the SSH server on it.
const bareMachine = `set -e
for dir in /usr/local/bin /var/lib /var/log /run; do mount -t tmpfs none $dir; done
mkdir /run/sshd /run/upper /run/work
mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/upper,workdir=/run/work /etc
echo "$2" >/etc/machine-id
exec /usr/sbin/sshd -D -e -f "$1"`

// machines are those of a testbed on which no host was started, with an SSH server each, and a directory with a program ssh that reaches them.
func machines(t *testing.T, p *pool) (ssh string) {
	t.Helper()
	dir := t.TempDir()
	for _, key := range []string{"user", "machine"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, h := range p.Hosts() {
		config := filepath.Join(dir, h.Name)
		must(t, os.WriteFile(config, fmt.Appendf(nil, "ListenAddress %s\nHostKey %s/machine\nAuthorizedKeysFile %s/user.pub\nStrictModes no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\nPidFile none\n", h.IP, dir, dir), 0o600))
		server := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", bareMachine, "sh", config, "machine of "+h.Name)
		var said bytes.Buffer
		server.Stderr = &said
		ended := make(chan error, 1)
		go func() { ended <- h.Run(server) }()
		t.Cleanup(func() {
			out, err := exec.Command(filepath.Join(dir, "ssh"), h.Name, "pinion down --purge --force").CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v: %s\n%s", h.Name, err, out, said.String())
			}
			must(t, unix.Kill(server.Process.Pid, unix.SIGTERM))
			<-ended
		})
	}
	var config strings.Builder
	for _, h := range p.Hosts() {
		fmt.Fprintf(&config, "Host %s\nHostName %s\n", h.Name, h.IP)
	}
	fmt.Fprintf(&config, "Host *\nUser root\nIdentityFile %s/user\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n", dir)
	must(t, os.WriteFile(filepath.Join(dir, "config"), []byte(config.String()), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "ssh"), fmt.Appendf(nil, "#!/bin/sh\nexec nsenter --net=%s /usr/bin/ssh -F %s/config \"$@\"\n", p.Namespace(), dir), 0o700))
	return dir
}

// pinion init makes a pool of bare machines, from one of them or from another machine, and goes on where it has stopped.
func TestAPoolIsMadeOfBareMachinesOverSSH(t *testing.T) {
	p := newPool(t, nil, nil, nil)
	dir := machines(t, p)
	ssh := func(machine, command string) (string, error) {
		out, err := exec.Command(filepath.Join(dir, "ssh"), machine, command).CombinedOutput()
		return string(out), err
	}
	for _, h := range p.Hosts() {
		eventually(t, h.Name+" lets us in", func() bool { _, err := ssh(h.Name, "true"); return err == nil })
	}
	config := filepath.Join(dir, "config.yaml")
	must(t, os.WriteFile(config, []byte("gpus: sim:2xh100\n"), 0o600))
	initialize := func(hosts string, more ...string) string {
		t.Helper()
		command := exec.Command(p.Hosts()[0].Binary(), append([]string{"init", "--hosts", hosts, "--config", config}, more...)...)
		command.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("pinion init --hosts %s: %v\n%s", hosts, err, out)
		}
		return string(out)
	}

	for range 2 {
		if said := initialize("host1,host2,host3", "--dry-run"); !strings.Contains(said, "host1: gets this pinion, starts a pool") || strings.Count(said, "gets this pinion, joins the pool") != 2 {
			t.Errorf("a dry run changes something, or does not say what would be done:\n%s", said)
		}
	}
	initialize("host1,host2")
	if said := initialize("host3,host1,host2"); strings.Count(said, "is a host of the pool already") != 2 || !strings.Contains(said, "host3: gets this pinion, joins the pool") {
		t.Errorf("the second run does not go on where the first has stopped:\n%s", said)
	}

	var hosts []struct {
		Name string
		GPUs struct{ Devices []any }
	}
	text, err := ssh("host1", "pinion hosts -o json")
	must(t, err)
	must(t, json.Unmarshal([]byte(text), &hosts))
	if len(hosts) != 3 || len(hosts[0].GPUs.Devices) != 2 {
		t.Errorf("%s", text)
	}
	if out, err := ssh("host1", "pinion run --gpus 2 pinion/self -- pinion gpus --container"); err != nil || strings.Count(out, "\nGPU ") != 2 {
		t.Errorf("%v: %s", err, out)
	}
	if out, _ := ssh("host3", "ls /run"); strings.Contains(out, "token") {
		t.Errorf("a join token is left: %s", out)
	}
}
