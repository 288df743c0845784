// Package runtimetest is the conformance suite of a container runtime driver: the properties that the agent relies on. The fake and the real containerd pass the same suite.
package runtimetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// Harness is one runtime under test.
type Harness struct {
	Images     runtime.Images
	Containers runtime.Containers
	Execer     runtime.Execer
	// Image can be pulled and has a POSIX shell at /bin/sh and sleep on its PATH, such as busybox.
	Image string
	// GPUs are UUIDs that a container can be given; empty: none.
	GPUs []string
	// Reopen is a restart of Pinion: the old runtime is not used any more, nothing that it had in memory counts, and
	// containers run on. It answers the runtime of the new start.
	Reopen func(t *testing.T) Harness
}

// The commands that the suite runs. A fake teaches itself these; see Scripts.
const (
	ExitCode      = "exit $CODE"                                          // ends at once with the code in the environment
	RunForever    = "trap '' TERM; while :; do sleep 0.1; done"           // SIGTERM does nothing
	ExitOnSIGTERM = "trap 'exit 5' TERM; while :; do sleep 0.1; done"     // SIGTERM: exit code 5
	Hang          = "exec sleep 1000"                                     // never ends by itself
	Echo          = "cat; echo heard >&2; exit 4"                         // stdin to stdout, "heard" to stderr, exit code 4
	Fork          = "sleep 1000 & sleep 1000 & while :; do sleep 1; done" // several processes, SIGTERM does nothing
)

// NoCommand is a program that no image has.
const NoCommand = "/no/such/program"

// caseTimeout bounds a case, on a slow machine too.
const caseTimeout = 2 * time.Minute

// Run checks that the runtime of open behaves as the contract says. open is called once per case.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for name, check := range map[string]func(*suite){
		"an exit code arrives, and again when asked again":      (*suite).exitCodes,
		"the environment is laid over the image's":              (*suite).environment,
		"SIGTERM reaches the first process":                     (*suite).sigterm,
		"SIGKILL ends what ignores SIGTERM":                     (*suite).kill,
		"SIGKILL ends every process of the container":           (*suite).killForks,
		"signals to what is over or unknown are no error":       (*suite).lateSignals,
		"an id is never started twice":                          (*suite).exists,
		"waiting for an unknown container says so":              (*suite).waitUnknown,
		"waiting ends with the context":                         (*suite).waitCancelled,
		"the list tells what is running and what ended":         (*suite).list,
		"a restart finds the running container and its exit":    (*suite).restartRunning,
		"a restart finds how a container ended":                 (*suite).restartEnded,
		"a command returns its exit code":                       (*suite).execExitCode,
		"a command is connected to its streams":                 (*suite).execStreams,
		"a command that takes too long is given up":             (*suite).execTimeout,
		"a container that has ended runs no commands":           (*suite).execAfterExit,
		"removing kills, forgets, and may be repeated":          (*suite).remove,
		"a start that fails leaves nothing":                     (*suite).failedStart,
		"an image that does not exist is an error that says so": (*suite).unknownImage,
		"a pulled image has a name and a digest":                (*suite).image,
		"the GPUs a container was given are found again":        (*suite).gpus,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
			defer cancel()
			s := &suite{T: t, Harness: open(t), ctx: ctx, task: newTaskID()}
			defer s.clean()
			check(s)
		})
	}
}

// suite is one case under way.
type suite struct {
	*testing.T
	Harness
	ctx     context.Context
	task    string
	started []string
}

func newTaskID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (s *suite) clean() {
	for _, id := range s.started {
		if err := s.Containers.Remove(context.Background(), id); err != nil {
			s.Errorf("remove %s at the end: %v", id, err)
		}
	}
}

// spec is a container of this case's task that runs a script.
func (s *suite) spec(name, script string, env ...string) runtime.ContainerSpec {
	s.Helper()
	image, err := s.Images.Pull(s.ctx, s.Image, func(spec.Pull) {})
	if err != nil {
		s.Fatalf("pull %s: %v", s.Image, err)
	}
	def := spec.ContainerDefinition{Name: name, Image: s.Image, EntryPoint: []string{"/bin/sh", "-c"}, Command: []string{script}, Memory: 64, Hostname: "conformance"}
	id := runtime.ContainerID(s.task, name)
	s.started = append(s.started, id)
	return runtime.ContainerSpec{
		ID: id, Def: &def, Image: image, Network: "none", Env: append(env, "NVIDIA_VISIBLE_DEVICES=void"),
		Task: &spec.Task{
			ID: s.task, Cluster: spec.DefaultCluster, Definition: "conformance:1", MemoryMiB: 64, CPU: 128,
			Containers: []spec.Container{{Name: name, Image: s.Image}},
		},
		TaskDef: &spec.TaskDefinition{Family: "conformance", Revision: 1, Containers: []spec.ContainerDefinition{def}},
	}
}

func (s *suite) start(spec runtime.ContainerSpec) string {
	s.Helper()
	if err := s.Containers.Start(s.ctx, spec); err != nil {
		s.Fatalf("start %s: %v", spec.Def.Name, err)
	}
	return spec.ID
}

func (s *suite) wait(id string) runtime.Exit {
	s.Helper()
	exit, err := s.Containers.Wait(s.ctx, id)
	if err != nil {
		s.Fatalf("wait for %s: %v", id, err)
	}
	return exit
}

func (s *suite) signal(id string, sig syscall.Signal) {
	s.Helper()
	if err := s.Containers.Kill(s.ctx, id, sig); err != nil {
		s.Fatalf("send %v to %s: %v", sig, id, err)
	}
}

// find is the container in the list; nil when it is not there.
func (s *suite) find(id string) *runtime.ExistingContainer {
	s.Helper()
	all, err := s.Containers.List(s.ctx)
	if err != nil {
		s.Fatalf("list: %v", err)
	}
	i := slices.IndexFunc(all, func(f runtime.ExistingContainer) bool { return f.ID == id })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func (s *suite) wantCode(id string, code int) {
	s.Helper()
	if exit := s.wait(id); exit.Code != code || exit.Lost != "" || exit.OOM || exit.At.IsZero() {
		s.Errorf("exit of %s is %+v, want code %d", id, exit, code)
	}
}

func (s *suite) wantGone(id string) {
	s.Helper()
	if f := s.find(id); f != nil {
		s.Errorf("%s is still listed: %+v", id, *f)
	}
	if _, err := s.Containers.Wait(s.ctx, id); !errors.Is(err, runtime.ErrNotFound) {
		s.Errorf("wait for %s answers %v, want ErrUnknown", id, err)
	}
}

func (s *suite) reopen() {
	s.Helper()
	s.Harness = s.Harness.Reopen(s.T)
}

func contains(err error, part string) bool { return err != nil && strings.Contains(err.Error(), part) }
