package server

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// writeUntilKilled is the child of the test below: it opens the server and prints the name of every cluster whose
// creation was acknowledged, from several writers at once.
func writeUntilKilled(dir string) {
	s, err := Open(context.Background(), config(dir))
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("open")
	var next atomic.Int64
	for range 4 {
		go func() {
			for {
				name := fmt.Sprintf("c-%d-%d", os.Getpid(), next.Add(1))
				if _, err := s.Propose(context.Background(), raftfsm.CreateCluster{Cluster: spec.Cluster{Name: name}}); err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				os.Stdout.WriteString(name + "\n") // one write: a line is whole or not there
			}
		}()
	}
	select {}
}

func TestKilledAtAnyMomentNothingAcknowledgedIsLost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raft")
	var acknowledged []string
	for pass := range 20 {
		acknowledged = append(acknowledged, writeAndKill(t, dir, pass)...)
	}
	v := view(t, start(t, config(dir)))
	for _, name := range acknowledged {
		if v.Cluster(name) == nil {
			t.Errorf("%s was acknowledged and is gone", name)
		}
	}
	t.Logf("%d acknowledged writes survived 20 kills", len(acknowledged))
}

// writeAndKill runs the child, kills it at a random moment and returns what it had acknowledged. Even rounds die while
// they start, odd ones in the middle of writing.
func writeAndKill(t *testing.T, dir string, pass int) (acknowledged []string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "PINION_TEST_WRITER="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if pass%2 == 0 {
		kill := time.AfterFunc(rand.N(60*time.Millisecond), func() { child.Process.Kill() })
		defer kill.Stop()
	}
	lines := bufio.NewScanner(out)
	for last := 2 + rand.N(300); lines.Scan(); {
		switch text := lines.Text(); {
		case text == "open":
		case text[0] == 'c':
			acknowledged = append(acknowledged, text)
		default:
			t.Errorf("round %d: %s", pass, text)
		}
		if last--; last == 0 {
			child.Process.Kill()
		}
	}
	child.Wait()
	return acknowledged
}
