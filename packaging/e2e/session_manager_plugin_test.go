package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// sessionManagerPlugin builds Amazon's client of sessions, and returns the directory that has it.
var sessionManagerPlugin = sync.OnceValues(func() (dir string, err error) {
	dir, err = os.MkdirTemp("", "pinion-e2e-plugin-")
	if err != nil {
		return "", err
	}
	shared.t.cleanups = append(shared.t.cleanups, func() { os.RemoveAll(dir) })
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "session-manager-plugin"), "github.com/aws/session-manager-plugin/src/sessionmanagerplugin-main")
	build.Dir = "sessionmanagerplugin"
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("session-manager-plugin is not built: %w\n%s", err, out)
	}
	return dir, nil
})

// executeCommand is `aws ecs execute-command` with Amazon's plugin, at this address of the host.
func (h *host) executeCommand(t *testing.T, address, task, command string) *exec.Cmd {
	t.Helper()
	dir, err := sessionManagerPlugin()
	if err != nil {
		t.Fatal(err)
	}
	env := h.envMap(t)
	c := exec.Command("aws", "ecs", "execute-command", "--task", task, "--interactive", "--command", command)
	for name, value := range env {
		switch name {
		case "PATH":
			value = dir + ":" + value
		case "AWS_ENDPOINT_URL_ECS", "AWS_ENDPOINT_URL":
			value = "https://" + address
		}
		c.Env = append(c.Env, name+"="+value)
	}
	return c
}

func TestAmazonsClientOpensAShell(t *testing.T) {
	h := sharedHost(t)
	id := h.runForExec(t, "exec-plugin")
	task := h.mustCall(t, "DescribeTasks", object{"tasks": []string{id}})
	if agent := task.at("tasks", 0, "containers", 0, "managedAgents", 0, "lastStatus"); agent != "RUNNING" || task.at("tasks", 0, "enableExecuteCommand") != true {
		t.Errorf("the task says of commands: %v", task)
	}
	s := onTerminal(t, h.executeCommand(t, h.listen, id, "sh"), 120, 40)
	s.shows("Starting session with SessionId: ecs-execute-command-")
	checkShell(t, s)
	s.types("exit", "Exiting session")
	if err := s.command.Wait(); err != nil {
		t.Errorf("it ends with %v:\n%s", err, s.screen)
	}
}

// megabytes is 100 MB of printable text without line ends, as a shell script.
const megabytes = `i=0; while [ $i -lt 8 ]; do i=$((i+1)); dd if=/dev/urandom bs=1M count=1 2>/dev/null | od -An -v -tx1 | tr -d ' \n'; done > /tmp/part; ` +
	`while [ $(stat -c %s /tmp/text 2>/dev/null || echo 0) -lt 104857600 ]; do cat /tmp/part >> /tmp/text; done; head -c 104857600 /tmp/text > /tmp/data; rm /tmp/part /tmp/text`

func TestAmazonsClientGetsAllOutput(t *testing.T) {
	h := sharedHost(t)
	id := h.runForExec(t, "exec-output", object{"memory": 512})
	h.pinion(t, "exec", id, "sh", "-c", megabytes)
	data := h.pinion(t, "exec", id, "cat", "/tmp/data")
	if sum, _, _ := strings.Cut(h.pinion(t, "exec", id, "sha256sum", "/tmp/data"), " "); sum != fmt.Sprintf("%x", sha256.Sum256([]byte(data))) {
		t.Fatal("pinion exec does not say what is in the file")
	}
	for name, cuts := range map[string]int{"whole": 0, "over a link that is cut": 3} {
		t.Run(name, func(t *testing.T) {
			link := newLink(t, h.listen, cuts)
			command := h.executeCommand(t, link.address, id, `sh -c "stty raw; printf BEGIN:; cat /tmp/data; printf :END; sleep 0.1"`)
			stdin, err := command.StdinPipe() // at its end the client would leave
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			var stdout bytes.Buffer
			command.Stdout, command.Stderr = &stdout, &stdout
			if err := command.Run(); err != nil {
				t.Fatalf("%v: %.2000s", err, &stdout)
			}
			_, got, _ := strings.Cut(stdout.String(), "BEGIN:")
			got, _, ended := strings.Cut(got, ":END")
			if repeats := repeated(got, data); repeats < 0 || repeats > cuts || !ended {
				t.Errorf("%d bytes came, not the %d that were sent, or %d parts of them came again", len(got), len(data), repeats)
			}
			if link.left > 0 {
				t.Errorf("the link was to be cut %d times more", link.left)
			}
		})
	}
}

// messageSize is the most that one message of output holds: a terminal may give less to one read.
const messageSize = 4096

// repeated is how many messages of data came twice in got; -1 when it is not data. Amazon's client shows a message before it acknowledges it, and shows it
// again when the link was cut in between and the message comes again.
func repeated(got, data string) (repeats int) {
	for got != data {
		same := 0
		for same < len(got) && same < len(data) && got[same] == data[same] {
			same++
		}
		again := cameAgain(got[same:], data, same)
		if again == 0 {
			return -1
		}
		got, data = got[same:], data[same-again:]
		repeats++
	}
	return repeats
}

// cameAgain is the size of the message that was shown to its end at data[:end] and comes again in rest; 0 when rest begins with no such message.
func cameAgain(rest, data string, end int) (size int) {
	for size := 1; size <= min(messageSize, end); size++ {
		from := data[end-size:]
		if n := min(64, len(rest), len(from)); n > 0 && rest[:n] == from[:n] { // 64 digits come by chance nowhere else
			return size
		}
	}
	return 0
}

// link is a TCP connection's way to a host that is cut while much goes over it.
type link struct {
	address string
	mu      sync.Mutex
	left    int // cuts to come
}

// bytesBetweenCuts is after how many bytes to the client the link is cut.
const bytesBetweenCuts = 8 << 20

func newLink(t *testing.T, to string, cuts int) *link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	made := &link{address: l.Addr().String(), left: cuts}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go made.carry(client, to)
		}
	}()
	return made
}

func (l *link) carry(client net.Conn, to string) {
	defer client.Close()
	host, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer host.Close()
	go io.Copy(host, client)
	if n, _ := io.CopyN(client, host, bytesBetweenCuts); n < bytesBetweenCuts {
		return
	}
	l.mu.Lock()
	cut := l.left > 0
	l.left--
	l.mu.Unlock()
	if !cut {
		io.Copy(client, host)
	}
}
