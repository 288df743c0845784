package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"pinion/api/httpx"
	"pinion/api/wire"
)

// Request asks a host for an upgrade. Asking twice with one id is asking once.
type Request struct {
	ID      string `json:"id"`      // of the attempt: letters and digits, 1 to 64
	Timeout int64  `json:"timeout"` // in seconds, in which the new program has to be ready
	// Problems are what is wrong with the host as it is asked, for people. The host keeps them with the attempt: what is not among them came with it, or after it.
	Problems []string `json:"problems,omitempty"`
	Image    string   `json:"image,omitempty"` // that has the program in the file ProgramFile; the members from here on are not of a rollback
	Digest   string   `json:"digest,omitempty"`
	Program  string   `json:"program,omitempty"` // digest of the program
	// Signature is the text of the program's signature, as minisign writes it.
	Signature string `json:"signature,omitempty"`
}

// ProgramFile is the file of an image that is the program: hosts get it from one another as they get images.
const ProgramFile = "pinion"

// Status is what a host says of its program.
type Status struct {
	Running Release `json:"running"`
	// UptimeMS is for how long the process has served, in milliseconds, 1 or more: a start anew is seen by it, however short it was. 0: the version does not say.
	UptimeMS int64 `json:"uptimeMs,omitempty"`
	// Applied is the index of the last entry of the pool's log that is in the state on the host; absent: the host is no server, or its version does not say.
	Applied *uint64  `json:"appliedIndex,omitempty"`
	Keys    []string `json:"keys"`           // public keys of minisign whose signatures of a new program count on the host
	Last    *Attempt `json:"last,omitempty"` // absent: there was none
	// Before is what a rollback puts back; absent: the last upgrade was none that has gone well, or was a rollback itself.
	Before *Release `json:"before,omitempty"`
}

// Remote is the host of this process, as administrators of its pool upgrade it.
type Remote interface {
	// Status is what the host says of its program.
	Status() (Status, error)
	// Begin begins to upgrade the host, or to put the previous program back. Errors wrap ErrBusy or ErrNoPrevious; what becomes of it is in Status.
	Begin(r Request, back bool) error
}

// Refusals of Begin.
var (
	// ErrBusy means that another upgrade of the host is under way.
	ErrBusy = errors.New("another upgrade of this host is under way: `pinion upgrade status` there tells how it ends")
	// ErrNoPrevious means that a host has no previous program to put back.
	ErrNoPrevious = errors.New("this host has no program from before an upgrade")
)

// Images has the images of a host.
type Images interface {
	// File writes a file of an image, which comes from other hosts first when it is not here.
	File(ctx context.Context, name, digest, file string, to io.Writer) error
}

// Handler answers servers of the pool about the upgrade of this host, which they have authorized.
type Handler struct {
	HostID  string
	Remote  Remote                // nil: this host upgrades nothing
	Applied func() (uint64, bool) // the index of the state on this host, and whether there is one; nil: there is none
}

// Show answers how far the upgrade of this host is.
func (h Handler) Show(x *httpx.Exchange, id string) error {
	if err := h.check(id); err != nil {
		return err
	}
	status, err := h.Remote.Status()
	if err != nil {
		return err
	}
	if h.Applied != nil {
		if index, is := h.Applied(); is {
			status.Applied = &index
		}
	}
	x.Reply(http.StatusOK, status)
	return nil
}

// Begin begins an upgrade of this host.
func (h Handler) Begin(x *httpx.Exchange, id string) error { return h.begin(x, id, false) }

// Rollback begins to put the previous program back.
func (h Handler) Rollback(x *httpx.Exchange, id string) error { return h.begin(x, id, true) }

func (h Handler) begin(x *httpx.Exchange, id string, back bool) error {
	if err := h.check(id); err != nil {
		return err
	}
	var r Request
	if err := wire.DecodeJSON(x.Body, &r, wire.Strict); err != nil {
		return err
	}
	err := r.check(back)
	if err == nil {
		err = h.Remote.Begin(r, back)
	}
	if err != nil {
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	}
	return h.Show(x, id)
}

func (h Handler) check(id string) error {
	if h.Remote == nil || id != h.HostID {
		return wire.Errorf(httpx.NotFound, "This host is %s, and upgrades no host %q.", h.HostID, id)
	}
	return nil
}

// check refuses what no host can do.
func (r Request) check(back bool) error {
	switch {
	case r.ID == "" || len(r.ID) > 64 || strings.Trim(r.ID, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "":
		return fmt.Errorf("id: %q is not 1 to 64 letters and digits", r.ID)
	case r.Timeout < 1 || r.Timeout > int64(MaxTimeout/time.Second):
		return fmt.Errorf("timeout: %d is not 1 to %d seconds", r.Timeout, int64(MaxTimeout/time.Second))
	case len(r.Problems) > MaxProblems || slices.ContainsFunc(r.Problems, func(p string) bool { return len(p) > MaxProblem }):
		return fmt.Errorf("problems: %d problems at most, of %d bytes each", MaxProblems, MaxProblem)
	case back && (r.Image != "" || r.Digest != "" || r.Program != "" || r.Signature != ""):
		return errors.New("the previous program is on the host: a rollback takes no image")
	case back:
		return nil
	case r.Image == "" || r.Signature == "":
		return errors.New("an upgrade over the network takes an image and the signature of the program in it")
	}
	for name, text := range map[string]string{"digest": r.Digest, "program": r.Program} {
		if d := digest.Digest(text); d.Validate() != nil || d.Algorithm() != digest.SHA256 {
			return fmt.Errorf("%s: %q is no digest, as in sha256: and 64 hex digits", name, text)
		}
	}
	return nil
}
