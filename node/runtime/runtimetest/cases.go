package runtimetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

func (s *suite) exitCodes() {
	for name, code := range map[string]string{"zero": "0", "seven": "7", "most": "255"} {
		id := s.start(s.spec(name, ExitCode, "CODE="+code))
		first := s.wait(id)
		want := map[string]int{"0": 0, "7": 7, "255": 255}[code]
		s.wantCode(id, want)
		if again := s.wait(id); again.Code != first.Code || !again.At.Equal(first.At) {
			s.Errorf("waiting again answers %+v, first %+v", again, first)
		}
	}
}

func (s *suite) environment() {
	env := s.spec("env", ExitCode, "PATH=/bin:/usr/bin", "CODE=9")
	env.Def.Environment = []spec.KeyValue{{Name: "CODE", Value: "1"}} // Env is the final word
	s.wantCode(s.start(env), 9)
}

func (s *suite) sigterm() {
	id := s.start(s.spec("term", ExitOnSIGTERM))
	sigtermUntilGone(s, id)
	s.wantCode(id, 5)
}

// sigtermUntilGone repeats the signal: a shell that has not come to its trap yet ignores it as process 1.
func sigtermUntilGone(s *suite, id string) {
	s.Helper()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = s.Containers.Wait(s.ctx, id)
	}()
	for {
		s.signal(id, syscall.SIGTERM)
		if closedSoon(gone) || s.ctx.Err() != nil {
			return
		}
	}
}

func (s *suite) kill() {
	id := s.start(s.spec("kill", RunForever))
	s.signal(id, syscall.SIGTERM)
	s.signal(id, syscall.SIGKILL)
	s.wantCode(id, 128+int(syscall.SIGKILL))
}

func (s *suite) killForks() {
	id := s.start(s.spec("fork", Fork))
	s.signal(id, syscall.SIGKILL)
	s.wantCode(id, 128+int(syscall.SIGKILL))
	if f := s.find(id); f == nil || f.Exit == nil {
		s.Errorf("after the end the list says %+v", f)
	}
}

func (s *suite) lateSignals() {
	id := s.start(s.spec("short", ExitCode, "CODE=0"))
	s.wait(id)
	s.signal(id, syscall.SIGTERM)
	s.signal(id, syscall.SIGKILL)
	s.wantCode(id, 0)
	s.signal(runtime.ContainerID(s.task, "nobody"), syscall.SIGTERM)
}

func (s *suite) exists() {
	spec := s.spec("once", RunForever)
	id := s.start(spec)
	if err := s.Containers.Start(s.ctx, spec); !errors.Is(err, runtime.ErrExists) {
		s.Errorf("second start while it runs answers %v, want ErrExists", err)
	}
	s.signal(id, syscall.SIGKILL)
	s.wantCode(id, 137)
	if err := s.Containers.Start(s.ctx, spec); !errors.Is(err, runtime.ErrExists) {
		s.Errorf("second start after its end answers %v, want ErrExists", err)
	}
	s.reopen()
	if err := s.Containers.Start(s.ctx, spec); !errors.Is(err, runtime.ErrExists) {
		s.Errorf("second start after a restart answers %v, want ErrExists", err)
	}
	s.wantCode(id, 137)
}

func (s *suite) waitUnknown() { s.wantGone(runtime.ContainerID(s.task, "nobody")) }

func (s *suite) waitCancelled() {
	id := s.start(s.spec("long", RunForever))
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := s.Containers.Wait(ctx, id); !errors.Is(err, context.Canceled) {
		s.Errorf("a cancelled wait answers %v", err)
	}
	if f := s.find(id); f == nil || f.Exit != nil {
		s.Errorf("after a cancelled wait the list says %+v", f)
	}
}

func (s *suite) list() {
	spec := s.spec("runs", RunForever)
	runs := s.start(spec)
	over := s.start(s.spec("over", ExitCode, "CODE=3"))
	s.wantCode(over, 3)
	f := s.find(runs)
	if f == nil || f.TaskID != s.task || f.Name != "runs" || f.PID <= 0 || f.StartedAt.IsZero() || f.CreatedAt.IsZero() || f.Exit != nil {
		s.Errorf("a running container is listed as %+v", f)
	}
	if f != nil && f.Image != spec.Image {
		s.Errorf("image is listed as %+v, started with %+v", f.Image, spec.Image)
	}
	f = s.find(over)
	if f == nil || f.StartedAt.IsZero() || f.Exit == nil || f.Exit.Code != 3 {
		s.Errorf("an ended container is listed as %+v", f)
	}
}

func (s *suite) restartRunning() {
	id := s.start(s.spec("runs", RunForever))
	before := s.find(id)
	s.reopen()
	after := s.find(id)
	if before == nil || after == nil || after.PID != before.PID || !after.StartedAt.Equal(before.StartedAt) || after.Exit != nil || after.TaskID != s.task || after.Name != "runs" {
		s.Fatalf("before the restart %+v, after it %+v", before, after)
	}
	s.signal(id, syscall.SIGKILL)
	s.wantCode(id, 137)
}

func (s *suite) restartEnded() {
	id := s.start(s.spec("over", ExitCode, "CODE=4"))
	first := s.wait(id)
	s.reopen()
	if f := s.find(id); f == nil || f.Exit == nil || f.Exit.Code != 4 {
		s.Errorf("after a restart the list says %+v", f)
	}
	s.wantCode(id, 4)
	if again := s.wait(id); !again.At.Equal(first.At) {
		s.Errorf("after a restart it ended at %v, before at %v", again.At, first.At)
	}
}

func (s *suite) remove() {
	id := s.start(s.spec("runs", RunForever))
	for range 2 {
		if err := s.Containers.Remove(s.ctx, id); err != nil {
			s.Fatalf("remove: %v", err)
		}
		s.wantGone(id)
	}
	if err := s.Containers.Remove(s.ctx, runtime.ContainerID(s.task, "nobody")); err != nil {
		s.Errorf("removing an unknown container: %v", err)
	}
}

func (s *suite) failedStart() {
	spec := s.spec("broken", "")
	spec.Def.EntryPoint, spec.Def.Command = []string{NoCommand}, nil
	err := s.Containers.Start(s.ctx, spec)
	if err == nil || errors.Is(err, runtime.ErrExists) || !contains(err, NoCommand) {
		s.Fatalf("starting %s answers %v, want an error that names it", NoCommand, err)
	}
	s.wantGone(spec.ID)
	good := s.spec("broken", ExitCode, "CODE=0")
	s.wantCode(s.start(good), 0)
}

func (s *suite) unknownImage() {
	const ref = "localhost:1/no/such/image:1"
	if _, err := s.Images.Pull(s.ctx, ref, func(spec.Pull) {}); !contains(err, "no/such/image") {
		s.Errorf("pulling %s answers %v, want an error that names it", ref, err)
	}
}

func (s *suite) image() {
	spec := s.spec("image", ExitCode)
	if spec.Image.Ref == "" || !strings.HasPrefix(spec.Image.Digest, "sha256:") {
		s.Errorf("image is %+v", spec.Image)
	}
}

func (s *suite) gpus() {
	if len(s.GPUs) == 0 {
		s.Skip("this runtime has no GPUs to give")
	}
	spec := s.spec("gpu", RunForever)
	spec.GPUs, spec.Shared = s.GPUs[:1], true
	spec.Task.Containers[0].GPUs = spec.GPUs
	id := s.start(spec)
	s.reopen()
	if f := s.find(id); f == nil || !slices.Equal(f.GPUs, spec.GPUs) || !f.Shared {
		s.Errorf("started with %v, listed as %+v", spec.GPUs, f)
	}
}

func (s *suite) execExitCode() {
	id := s.start(s.spec("checked", RunForever, "CODE=3"))
	for _, c := range []struct {
		command []string
		want    int
	}{
		{[]string{"/bin/sh", "-c", ExitCode}, 3}, // in the container's own environment
		{[]string{NoCommand}, 127},
		{[]string{"/bin/sh", "-c", ExitCode}, 3},
	} {
		if code, err := s.Execer.Exec(s.ctx, id, runtime.ExecRequest{Cmd: c.command}); err != nil || code != c.want {
			s.Errorf("command %q answers %d, %v, want %d", c.command, code, err, c.want)
		}
	}
	if f := s.find(id); f == nil || f.Exit != nil {
		s.Errorf("after its commands the list says of the container %+v", f)
	}
}

func (s *suite) execTimeout() {
	id := s.start(s.spec("slow", RunForever, "CODE=0"))
	ctx, cancel := context.WithTimeout(s.ctx, time.Second)
	defer cancel()
	if code, err := s.Execer.Exec(ctx, id, shell(Hang)); err == nil {
		s.Errorf("it answers %d", code)
	}
	if code, err := s.Execer.Exec(s.ctx, id, shell(ExitCode)); err != nil || code != 0 {
		s.Errorf("the next one answers %d, %v", code, err)
	}
}

func (s *suite) execAfterExit() {
	id := s.start(s.spec("ended", ExitCode, "CODE=0"))
	s.wait(id)
	if code, err := s.Execer.Exec(s.ctx, id, shell(ExitCode)); err == nil {
		s.Errorf("it answers %d", code)
	}
	if _, err := s.Execer.Exec(s.ctx, runtime.ContainerID(s.task, "nobody"), runtime.ExecRequest{Cmd: []string{"true"}}); err == nil {
		s.Error("a command ran in an unknown container")
	}
}

func (s *suite) execStreams() {
	id := s.start(s.spec("streams", RunForever))
	var stdout, stderr bytes.Buffer
	request := shell(Echo)
	request.Stdio = runtime.Stdio{Stdin: strings.NewReader("a line\n"), Stdout: &stdout, Stderr: &stderr}
	if code, err := s.Execer.Exec(s.ctx, id, request); err != nil || code != 4 {
		s.Errorf("it returns %d, %v, want 4", code, err)
	}
	if stdout.String() != "a line\n" || stderr.String() != "heard\n" {
		s.Errorf("stdout is %q and stderr %q", &stdout, &stderr)
	}
}

func shell(script string) runtime.ExecRequest {
	return runtime.ExecRequest{Cmd: []string{"/bin/sh", "-c", script}}
}
