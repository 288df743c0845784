package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What `pinion key create` prints on a host is all that a laptop needs.
func TestAConnectionStringOpensThePoolFromElsewhere(t *testing.T) {
	h, home := sharedHost(t), t.TempDir()
	laptop := func(stdin string, arguments ...string) (string, error) {
		cmd := exec.Command(binary, arguments...)
		cmd.Env, cmd.Stdin = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, strings.NewReader(stdin)
		return output(cmd)
	}
	key := decode(t, h.pinion(t, "key", "create", "--role", "read", "--cluster", "default", "-o", "json"))
	connection := key.text("connection")
	for name, wrong := range map[string]string{
		"another CA":     connection[:len(connection)-8] + "00000000",
		"another secret": strings.Replace(connection, ":"+strings.Split(strings.Split(connection, "@")[0], ":")[2]+"@", ":nosecret@", 1),
	} {
		if out, err := laptop(wrong, "login", "-", "--context", "lab"); err == nil {
			t.Errorf("%s is let in: %s", name, out)
		}
	}
	if _, err := os.Stat(filepath.Join(home, ".config/pinion")); err == nil {
		t.Error("a login that failed was kept")
	}
	if _, err := laptop(connection, "login", "-", "--context", "lab"); err != nil {
		t.Fatal(err)
	}
	hosts, err := laptop("", "--context", "lab", "host", "ls", "-o", "json")
	if err != nil || !strings.Contains(hosts, h.listen) {
		t.Errorf("%v\n%s", err, hosts)
	}
	if out, err := laptop("", "--context", "lab", "run", "pinion/self"); err == nil {
		t.Errorf("a key of the role read runs tasks: %s", out)
	}
	if out, err := laptop("", "--context", "lab", "env"); err != nil || !strings.Contains(out, key.text("accessKeyId")) {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := laptop("", "--context", "lab", "leave"); err == nil {
		t.Errorf("a machine elsewhere leaves the pool: %s", out)
	}
}
