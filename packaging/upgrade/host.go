package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pinion/api/upgrade"
	"pinion/packaging/atomicfile"
)

const (
	// poll is the time between two looks at files and processes.
	poll = 100 * time.Millisecond
	// tryTimeout bounds the trial of a new program.
	tryTimeout = 10 * time.Second
	// grace is the time of the guard beyond that of the new program, before nobody counts on it any more.
	grace = 30 * time.Second
	// logFile is the file of the data directory with what the guard says.
	logFile = "upgrade.log"
)

// Host is the host of this machine.
type Host struct{}

var _ upgrade.Host = Host{}

// Status is the last attempt; nil: there was none.
func (Host) Status(dataDir string) (*upgrade.Attempt, error) { return read(dataDir) }

// Upgrade exchanges the program and waits for the outcome. A context that ends does not end the upgrade.
func (Host) Upgrade(ctx context.Context, c upgrade.Config) (a upgrade.Attempt, err error) {
	unlock, err := lock(c.DataDir)
	if err != nil {
		return a, err
	}
	defer unlock()
	now, err := target(c)
	if err != nil {
		return a, err
	}
	file := c.File
	if file == "" {
		file = now.binary + oldSuffix
	}
	a = newAttempt(c, now.binary)
	staged, err := stage(ctx, file, c, &a)
	if err != nil {
		return a, err
	}
	defer os.Remove(staged) // once it is in place there is nothing of the name
	if a.From, err = release(ctx, fmt.Sprintf("/proc/%d/exe", now.pid)); err != nil {
		return a, fmt.Errorf("the program that runs: %w", err)
	}
	if a.From.Digest == a.To.Digest {
		return a, fmt.Errorf("%s is the program that runs already (%s)", file, a.To.Version)
	}
	if c.DryRun {
		return a, nil
	}
	if err := swapProgram(c.DataDir, &a, staged); err != nil {
		return a, err
	}
	c.Progress(fmt.Sprintf("%s is in place and is being started; %s stays at %s", a.To.Version, a.From.Version, a.Binary+oldSuffix))
	if err := startGuard(c.DataDir, &a); err != nil {
		return a, errors.Join(err, restore(c.DataDir, &a, "the guard could not be started"))
	}
	unlock()
	return wait(ctx, c)
}

// newAttempt is an attempt before a look at the new program.
func newAttempt(c upgrade.Config, binary string) upgrade.Attempt {
	return upgrade.Attempt{ID: c.ID, State: upgrade.Checking, Rollback: c.File == "", Binary: binary, At: time.Now().UTC(), Timeout: c.Timeout, Problems: c.Problems}
}

// target is the process to upgrade, when that can be done.
func target(c upgrade.Config) (*process, error) {
	last, err := read(c.DataDir)
	if err != nil {
		return nil, err
	}
	if last != nil && last.State == upgrade.Checking && time.Since(last.At) < last.Timeout+grace {
		return nil, fmt.Errorf("an upgrade to %s is under way since %s: `pinion upgrade status` tells how it ends", last.To.Version, last.At.Format(time.RFC3339))
	}
	p, err := running(c.DataDir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("looking for the pinion of %s: %w", c.DataDir, err)
	case p == nil:
		return nil, fmt.Errorf("no pinion runs from %s: put the new program in its place, and start it", c.DataDir)
	case strings.HasSuffix(p.binary, " (deleted)"):
		return nil, fmt.Errorf("%s was replaced or removed since pinion was started: restart pinion first", strings.TrimSuffix(p.binary, " (deleted)"))
	case slices.ContainsFunc(p.args, readsInput):
		return nil, fmt.Errorf("the pinion that runs has read a token or a secret from its terminal, which it cannot do again by itself: start it without `--token-file -` and `--unlock ask`, and upgrade it then")
	}
	return p, nil
}

// readsInput reports whether an argument of `pinion up` has it read something that is not there for a second start.
func readsInput(arg string) bool {
	return arg == "-" || strings.HasSuffix(arg, "=-") || arg == "ask" || arg == "--unlock=ask"
}

// stage copies the file beside the program, checks its signature, and tries it there: a gets what it is. Nobody but root can change the copy.
func stage(ctx context.Context, file string, c upgrade.Config, a *upgrade.Attempt) (path string, err error) {
	from, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("the new program: %w", err)
	}
	defer from.Close()
	if info, err := from.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("the new program: %s is not a file", file)
	}
	if err := checkPlatform(from); err != nil {
		return "", fmt.Errorf("the new program %s: %w", file, err)
	}
	staged, err := os.CreateTemp(filepath.Dir(a.Binary), atomicfile.TempPrefix+"*")
	if err != nil {
		return "", fmt.Errorf("the new program: %w", err)
	}
	_, err = io.Copy(staged, from)
	err = errors.Join(err, staged.Chmod(0o755), staged.Sync(), staged.Close())
	if err == nil {
		err = checkDigest(staged.Name(), c.Want)
	}
	if err == nil {
		a.Signed, err = verify(staged.Name(), c)
	}
	if err == nil {
		a.To, err = release(ctx, staged.Name())
	}
	if err == nil {
		a.Inherits = inherits(ctx, staged.Name())
	}
	if err != nil {
		os.Remove(staged.Name())
		return "", fmt.Errorf("the new program %s: %w", file, err)
	}
	return staged.Name(), nil
}

// checkPlatform refuses a program for another processor or another system. What is not in the format of Linux's programs the trial refuses.
func checkPlatform(program io.ReaderAt) error {
	architecture, err := upgrade.ArchitectureOf(program)
	if errors.Is(err, upgrade.ErrNotELF) {
		return nil
	}
	if err == nil && architecture != runtime.GOARCH {
		err = fmt.Errorf("it is for %s, and this host is %s: take the file of the release for %s", architecture, runtime.GOARCH, runtime.GOARCH)
	}
	return err
}

// release asks a program for its version.
func release(ctx context.Context, path string) (r upgrade.Release, err error) {
	if r.Digest, err = digestOf(path); err != nil {
		return r, err
	}
	out, err := try(ctx, path, "--version")
	version, is := strings.CutPrefix(out, "pinion version ")
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return r, fmt.Errorf("it is no program for linux/%s, as this host is: take the file of the release for it", runtime.GOARCH)
	case err != nil:
		return r, fmt.Errorf("it does not run here (--version: %w)", err)
	case !is || version == "" || strings.ContainsAny(version, "\n\r"):
		return r, errors.New("it is not pinion: it does not answer --version as pinion does")
	}
	r.Version = version
	return r, nil
}

// inherits reports whether a program takes sockets over; an earlier version knows no such command.
func inherits(ctx context.Context, path string) bool {
	out, err := try(ctx, path, upgrade.InheritsName)
	return err == nil && out == upgrade.InheritsAnswer
}

// try runs a program, and returns what it says.
func try(ctx context.Context, path, argument string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, argument)
	cmd.Env, cmd.WaitDelay = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, time.Second
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// swapProgram records the attempt, keeps the previous program, and puts the staged one in its place.
func swapProgram(dataDir string, a *upgrade.Attempt, staged string) error {
	if err := write(dataDir, a); err != nil {
		return err
	}
	err := keepOld(a)
	if err == nil {
		err = atomicfile.Rename(staged, a.Binary)
	}
	if err != nil {
		return fmt.Errorf("exchanging the program: %w", errors.Join(err, end(dataDir, a, upgrade.RolledBack, "the file could not be put in place")))
	}
	return nil
}

// keepOld gives the program that runs its second name, at which another one may be. Another program in its place, which somebody has put there since it was
// started, could not be put back: it is refused.
func keepOld(a *upgrade.Attempt) error {
	link := filepath.Join(filepath.Dir(a.Binary), atomicfile.TempPrefix+"old")
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Link(a.Binary, link); err != nil {
		return err
	}
	if err := checkDigest(link, a.From.Digest); err != nil {
		return errors.Join(fmt.Errorf("%s is not the program that runs: %w: restart pinion first", a.Binary, err), os.Remove(link))
	}
	return atomicfile.Rename(link, a.Binary+oldSuffix)
}

// startGuard starts the previous program beside the new one, in a session of its own: it outlives this command, its terminal, and the host.
func startGuard(dataDir string, a *upgrade.Attempt) error {
	log, err := os.OpenFile(filepath.Join(dataDir, logFile), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("the guard: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(a.Binary+oldSuffix, "--data-dir", dataDir, upgrade.GuardName)
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.SysProcAttr = log, log, "/", &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the guard: %w", err)
	}
	go cmd.Wait() // it is a child of a host that upgrades itself for as long as it takes to leave it
	return nil
}

// wait waits until an attempt has ended.
func wait(ctx context.Context, c upgrade.Config) (upgrade.Attempt, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout+grace)
	defer cancel()
	ticks := time.NewTicker(poll)
	defer ticks.Stop()
	for {
		a, err := read(c.DataDir)
		switch {
		case err != nil:
			return upgrade.Attempt{}, err
		case a == nil:
			return upgrade.Attempt{}, errors.New("the record of the upgrade is gone: `pinion version` says what runs")
		case a.State == upgrade.Confirmed:
			return *a, nil
		case a.State != upgrade.Checking:
			return *a, fmt.Errorf("%s is in place again, %s is not: %s", a.From.Version, a.To.Version, a.Reason)
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return *a, fmt.Errorf("the upgrade to %s goes on: `pinion upgrade status` tells how it ends (%w)", a.To.Version, ctx.Err())
		}
	}
}
