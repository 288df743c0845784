package logs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

// follow reads the lines of a task until the test ends, and returns them as they come.
func follow(t *testing.T, s *Store, task string) <-chan string {
	t.Helper()
	lines, ended := make(chan string, 100), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		ended <- s.Read(ctx, spec.LogQuery{Task: task, Follow: true}, nil, func(l spec.LogLine) error {
			lines <- l.Text
			return nil
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return lines
}

// Without polls, only the watch can wake a follower: for each line, each container and each rotation.
func TestAFollowerIsWokenByWhatIsWritten(t *testing.T) {
	s := NewStore(t.TempDir())
	s.poll = time.Hour
	write(t, s.Path("t", "a"), 0, "0")
	first, second := follow(t, s, "t"), follow(t, s, "t")
	want := func(text string) {
		t.Helper()
		for _, lines := range []<-chan string{first, second} {
			if got := <-lines; got != text {
				t.Fatalf("got %q, want %q", got, text)
			}
		}
	}
	want("0")
	for i, path := range []string{s.Path("t", "a"), s.Path("t", "b"), s.Path("t", "a")} {
		text := string(rune('1' + i))
		write(t, path, i+1, text)
		want(text)
		rotate(t, path, 3)
	}
}

// Without polls, the end of the task itself ends its followers, after its last words.
func TestAFollowerIsWokenByTheEndOfItsTask(t *testing.T) {
	s := NewStore(t.TempDir())
	s.poll = time.Hour
	write(t, s.Path("t", "a"), 0, "0")
	done := make(chan struct{})
	var got []string
	err := s.Read(t.Context(), spec.LogQuery{Task: "t", Follow: true}, done, func(l spec.LogLine) error {
		if got = append(got, l.Text); len(got) == 1 {
			write(t, s.Path("t", "a"), 1, "last words")
			close(done)
		}
		return nil
	})
	if err != nil || !slices.Equal(got, []string{"0", "last words"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// The instance of inotify ends with its last follower, also when the logs were removed meanwhile, and a later one has its own.
func TestTheWatchEndsWithItsLastFollower(t *testing.T) {
	s := NewStore(t.TempDir())
	s.poll = time.Hour
	for range 3 {
		write(t, s.Path("t", "a"), 0, "x")
		watched, other := s.writes.watch(filepath.Dir(s.Path("t", "a"))), s.writes.watch(filepath.Dir(s.Path("t", "a")))
		other.close()
		write(t, s.Path("t", "a"), 1, "y")
		<-watched.wakes()
		if err := os.RemoveAll(filepath.Dir(s.Path("t", "a"))); err != nil {
			t.Fatal(err)
		}
		watched.close()
		if s.writes.inotify != nil || len(s.writes.followers) > 0 {
			t.Fatalf("%d directories are watched", len(s.writes.followers))
		}
	}
}

func TestWhereInotifyRefusesFollowersPoll(t *testing.T) {
	s := NewStore(t.TempDir())
	if missing := s.writes.watch(filepath.Join(s.dir, "t")); missing != nil || missing.wakes() != nil {
		t.Error("a directory that does not exist is watched")
	}
	if s.writes.inotify != nil {
		t.Error("an instance of inotify stays without followers")
	}
	s.poll = time.Millisecond
	lines := follow(t, s, "t")
	write(t, s.Path("t", "a"), 0, "0")
	if got := <-lines; got != "0" {
		t.Error(got)
	}
}
