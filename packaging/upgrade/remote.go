package upgrade

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"pinion/api/upgrade"
)

// maxProgram bounds a new program, in bytes.
const maxProgram = 1 << 30

// Remote upgrades the host of this process for administrators of its pool. The program comes from other hosts, in an image, and has to have a signature that
// counts here: nobody over the network is trusted beyond that, servers neither. What follows is what root of the machine would do. It is safe for concurrent use.
type Remote struct {
	dataDir string
	images  upgrade.Images
	log     *slog.Logger
	running func() (upgrade.Release, error)
	started time.Time
	host    upgrade.Host

	mu   sync.Mutex
	last *upgrade.Attempt // that was asked for last, until the journal has it; nil: none since the start
}

var _ upgrade.Remote = (*Remote)(nil)

// NewRemote returns the upgrades of the host with the data directory, whose program has the version.
func NewRemote(dataDir, version string, images upgrade.Images, log *slog.Logger) *Remote {
	return &Remote{dataDir: dataDir, images: images, log: log, started: time.Now(), host: Host{}, running: sync.OnceValues(func() (upgrade.Release, error) {
		digest, err := digestOf("/proc/self/exe")
		return upgrade.Release{Version: version, Digest: digest}, err
	})}
}

// Status is of upgrade.Remote.
func (r *Remote) Status() (s upgrade.Status, err error) {
	keys, err := trusted(r.dataDir)
	if err != nil {
		return s, err
	}
	s.UptimeMS = max(1, time.Since(r.started).Milliseconds())
	s.Keys = []string{}
	for _, key := range keys {
		s.Keys = append(s.Keys, key.String())
	}
	if s.Running, err = r.running(); err != nil {
		return s, fmt.Errorf("the program that runs: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	recorded, last, err := r.current()
	if s.Last = last; err == nil && hasPrevious(recorded) && recorded.To.Digest == s.Running.Digest {
		s.Before = &recorded.From
	}
	return s, err
}

// current is the last attempt in the journal, and the last one of all, as far as it is; nil: there was none.
func (r *Remote) current() (recorded, last *upgrade.Attempt, err error) {
	recorded, err = read(r.dataDir)
	if err != nil || r.last == nil || recorded != nil && recorded.ID == r.last.ID {
		return recorded, recorded, err
	}
	asked := *r.last
	return recorded, &asked, nil
}

// hasPrevious reports whether there is a previous program for administrators of the pool to put back: doing that again is no way forward again.
func hasPrevious(recorded *upgrade.Attempt) bool {
	return recorded != nil && recorded.State == upgrade.Confirmed && !recorded.Rollback
}

// Begin is of upgrade.Remote.
func (r *Remote) Begin(request upgrade.Request, back bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	recorded, last, err := r.current()
	switch {
	case err != nil:
		return err
	case last != nil && last.ID == request.ID:
		return nil
	case last != nil && (last.State == upgrade.Staging || last.State == upgrade.Checking && time.Since(last.At) < last.Timeout+grace):
		return upgrade.ErrBusy
	case back:
		err = checkBefore(recorded)
	}
	if err != nil {
		return err
	}
	c := upgrade.Config{
		DataDir: r.dataDir, ID: request.ID, Problems: append([]string{}, request.Problems...), MustSign: !back, Timeout: time.Duration(request.Timeout) * time.Second,
		Progress: func(text string) { r.log.Info("upgrade: "+text, "upgradeId", request.ID) },
	}
	if back {
		c.Want = recorded.From.Digest
	} else {
		c.Signature, c.Want = []byte(request.Signature), request.Program
	}
	r.last = &upgrade.Attempt{ID: request.ID, State: upgrade.Staging, Rollback: back, At: time.Now().UTC(), Timeout: c.Timeout, To: upgrade.Release{Digest: request.Program}, Problems: c.Problems}
	r.log.Info("upgrade: a server of the pool asks for it, for an administrator", "upgradeId", request.ID, "program", request.Program, "rollback", back)
	go r.carryOut(request, c, back)
	return nil
}

// checkBefore refuses a rollback to anything but what was there before the last upgrade.
func checkBefore(recorded *upgrade.Attempt) error {
	if !hasPrevious(recorded) {
		return upgrade.ErrNoPrevious
	}
	digest, err := digestOf(recorded.Binary + oldSuffix)
	if err == nil && digest != recorded.From.Digest {
		err = errors.New("it is another program")
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", upgrade.ErrNoPrevious, recorded.Binary+oldSuffix, err)
	}
	return nil
}

// carryOut upgrades the host. When it goes well this process goes on with the new program, whose journal says the rest; here only what fails before that is
// recorded, in memory.
func (r *Remote) carryOut(request upgrade.Request, c upgrade.Config, back bool) {
	err := r.upgrade(request, c, back)
	if err == nil {
		return
	}
	r.log.Error("upgrade: it has failed", "upgradeId", request.ID, "error", err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last.State, r.last.Reason = upgrade.Failed, err.Error()
}

func (r *Remote) upgrade(request upgrade.Request, c upgrade.Config, back bool) error {
	if back {
		_, err := r.host.Upgrade(context.Background(), c)
		return err
	}
	file, err := r.fetch(request)
	if err != nil {
		return err
	}
	defer file.Close()
	c.File = fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	_, err = r.host.Upgrade(context.Background(), c)
	return err
}

// fetch gets the program from the pool, into a file without a name, which is gone with this process.
func (r *Remote) fetch(request upgrade.Request) (file *os.File, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), upgrade.FetchTimeout)
	defer cancel()
	if file, err = os.CreateTemp(r.dataDir, "upgrade-*"); err != nil {
		return nil, fmt.Errorf("the new program: %w", err)
	}
	hash := sha256.New()
	err = os.Remove(file.Name())
	if err == nil {
		err = r.images.File(ctx, request.Image, request.Digest, upgrade.ProgramFile, &bounded{io.MultiWriter(file, hash), maxProgram})
	}
	if got := "sha256:" + hex.EncodeToString(hash.Sum(nil)); err == nil && got != request.Program {
		err = fmt.Errorf("it has the digest %s, not %s", got, request.Program)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("the new program: %w", err)
	}
	return file, nil
}

// bounded refuses to write more than so many bytes.
type bounded struct {
	io.Writer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, fmt.Errorf("it has more than %d MiB", maxProgram>>20)
	}
	return b.Writer.Write(p)
}
