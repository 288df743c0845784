package upgrade

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// phaseVariable makes this test a host: "before" listens at the port behind it until it is told to go on, and is "after" then; "keeps" keeps the socket, and "loses" does and is "hangs" then, which accepts nobody.
const phaseVariable = "PINION_TEST_SOCKETS"

// dirVariable names the data directory of such a host.
const dirVariable = "PINION_TEST_SOCKETS_DIR"

func TestMain(m *testing.M) {
	phase, port, _ := strings.Cut(os.Getenv(phaseVariable), " ")
	number, _ := strconv.Atoi(port)
	switch phase {
	case "":
		os.Exit(m.Run())
	case "before", "keeps":
		exit(before(number, phase == "keeps", "after"))
	case "loses":
		exit(before(number, true, "hangs"))
	case "hangs":
		fmt.Println(phase)
		_, err := io.ReadAll(os.Stdin) // until it is killed
		exit(err)
	case "after":
		exit(after(number))
	case "leaderless":
		leaderless()
	default:
		exit(fmt.Errorf("no phase %q", phase))
	}
}

// exit ends this process.
func exit(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// before is a host whose program is exchanged for the next one.
func before(port int, keeps bool, next string) error {
	sockets, lines := inherit(os.Getenv(dirVariable)), bufio.NewReader(os.Stdin)
	opened, err := sockets.Listen(port)
	if err != nil {
		return err
	}
	if keeps {
		sockets.persist()
	}
	if err := opened.Close(); err != nil {
		return err
	}
	fmt.Println("closed")
	if _, err := lines.ReadString('\n'); err != nil {
		return err
	}
	os.Setenv(phaseVariable, fmt.Sprint(next, " ", port))
	return execute("/proc/self/exe", sockets.pass())
}

// after is the next program: it answers one client.
func after(port int) error {
	opened, err := inherit(os.Getenv(dirVariable)).Listen(port)
	if err != nil {
		return err
	}
	fmt.Println("listens")
	conn, err := opened.Accept()
	if err != nil {
		return err
	}
	_, err = io.WriteString(conn, "after")
	return errors.Join(err, conn.Close())
}

// A client that connects while the program is exchanged is answered by the next one, where the sockets are kept; otherwise it is refused.
func TestAClientWaitsWhileTheProgramIsExchanged(t *testing.T) {
	for phase, kept := range map[string]bool{"before": false, "keeps": true} {
		port := freePort(t)
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", phaseVariable, phase, port))
		in, err := cmd.StdinPipe()
		out, outErr := cmd.StdoutPipe()
		if err := errors.Join(err, outErr, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		if line, _ := lines.ReadString('\n'); line != "closed\n" {
			t.Fatalf("%s: %q", phase, line)
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		client, err := net.Dial("tcp", address)
		if refused := errors.Is(err, syscall.ECONNREFUSED); refused == kept || (err == nil) != kept {
			t.Errorf("%s: %v", phase, err)
		}
		io.WriteString(in, "go on\n")
		if line, _ := lines.ReadString('\n'); line != "listens\n" {
			t.Errorf("%s: %q", phase, line)
		}
		if client == nil {
			if client, err = net.Dial("tcp", address); err != nil {
				t.Fatal(err)
			}
		}
		client.SetDeadline(time.Now().Add(time.Minute))
		if answer, err := io.ReadAll(client); string(answer) != "after" {
			t.Errorf("%s: %q %v", phase, answer, err)
		}
		client.Close()
		cmd.Wait()
	}
}

// freePort is a port on which nobody listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// What is no socket of this process at the port is not listened on, whoever has set the variable: the port is opened as ever, and nothing else is closed.
func TestOnlySocketsOfThisProcessAreInherited(t *testing.T) {
	port, other := freePort(t), freePort(t)
	l, err := net.Listen("tcp", ":"+strconv.Itoa(other))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, value := range map[string]string{
		"nothing":                  "",
		"of another process":       fmt.Sprintf("%d %d=%d", os.Getpid()+1, port, descriptor(t, l)),
		"a socket at another port": fmt.Sprintf("%d %d=%d", os.Getpid(), port, descriptor(t, l)),
		"no socket":                fmt.Sprintf("%d %d=%d", os.Getpid(), port, file(t)),
		"standard output":          fmt.Sprintf("%d %d=1", os.Getpid(), port),
		"nothing is there":         fmt.Sprintf("%d %d=987654", os.Getpid(), port),
		"no numbers":               fmt.Sprintf("%d a=b = 1", os.Getpid()),
	} {
		t.Setenv(socketsVariable, value)
		s := inherit(t.TempDir())
		if os.Getenv(socketsVariable) != "" {
			t.Errorf("%s: programs that this one starts get the variable", name)
		}
		opened, err := s.Listen(port)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := opened.Addr().(*net.TCPAddr).Port; got != port {
			t.Errorf("%s: it listens at %d", name, got)
		}
		if s.CloseUnused(); s.pass() != nil {
			t.Errorf("%s: sockets are passed on though the program is not exchanged", name)
		}
		opened.Close()
	}
	if conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(other))); err != nil {
		t.Errorf("the other listener: %v", err)
	} else {
		conn.Close()
	}
}

// descriptor is another descriptor of a listener, which an inherit may close.
func descriptor(t *testing.T, l net.Listener) int {
	t.Helper()
	fd, err := duplicate(l.(*net.TCPListener))
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// file is the descriptor of a file, likewise.
func file(t *testing.T) int {
	t.Helper()
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// A socket that no listener of the next program wants does not keep clients waiting for ever.
func TestASocketThatNobodyWantsIsClosed(t *testing.T) {
	port := freePort(t)
	l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(socketsVariable, fmt.Sprintf("%d %d=%d", os.Getpid(), port, descriptor(t, l)))
	s := inherit(t.TempDir())
	l.Close()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s.CloseUnused()
	if _, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the port is open: %v", err)
	}
	if opened, err := s.Listen(port); err != nil {
		t.Errorf("it cannot be opened anew: %v", err)
	} else {
		opened.Close()
	}
}
