// Package upgrade is the vocabulary of upgrades: what becomes of the program of a host, as its journal, the API and the command line say it.
package upgrade

import (
	"context"
	"time"
)

// State is how far an upgrade is.
type State string

// States of an upgrade.
const (
	Staging    State = "STAGING"     // the host gets the new program, and nothing has changed yet
	Failed     State = "FAILED"      // nothing has changed: the new program was refused, or did not come
	Checking   State = "CHECKING"    // the new program is in place, and has not yet been ready
	Confirmed  State = "CONFIRMED"   // it has joined its pool and taken up the tasks
	RolledBack State = "ROLLED_BACK" // the previous program is in place again
	Abandoned  State = "ABANDONED"   // somebody has put a third program there, or taken the previous one away
)

// Release is one program.
type Release struct {
	Version string `json:"version"`
	Digest  string `json:"digest"` // "sha256:" and 64 hex digits
}

// Attempt is the last upgrade of a host. It is written to the disk before anything is changed.
type Attempt struct {
	ID       string        `json:"id,omitempty"` // by whoever has asked for it over the network; empty: root of the machine has
	State    State         `json:"state"`
	Binary   string        `json:"binary"` // absolute path of the program
	From     Release       `json:"from"`
	To       Release       `json:"to"`
	Inherits bool          `json:"inherits,omitempty"` // the new program takes the listening sockets of the one before over
	Signed   bool          `json:"signed"`             // the new program has a signature that counts on the host
	Rollback bool          `json:"rollback,omitempty"` // to the previous program
	At       time.Time     `json:"at"`
	Timeout  time.Duration `json:"timeout"`          // in which the new program has to be ready
	Starts   int           `json:"starts"`           // of the new program
	Reason   string        `json:"reason,omitempty"` // why it has failed, was rolled back, or abandoned
	Problems []string      `json:"problems"`         // what was wrong with the host before it; null: nobody has said, as of an upgrade by root of the machine
}

// Config is what to do on a machine.
type Config struct {
	DataDir   string   // absolute path of the host's data directory
	File      string   // the new program; empty: the one from before the last upgrade
	Want      string   // digest that the file has to have; empty: any
	Signature []byte   // of the new program, as minisign writes it; nil: there is none
	MustSign  bool     // refuse a new program without a signature that counts on the host
	ID        string   // of the attempt
	Problems  []string // of the attempt
	Timeout   time.Duration
	DryRun    bool // check the file, and change nothing
	Progress  func(text string)
}

// Host is the host of this machine.
type Host interface {
	// Upgrade exchanges the program and waits for the outcome, which is Confirmed or an error.
	Upgrade(ctx context.Context, c Config) (Attempt, error)
	// Status is the last attempt; nil: there was none.
	Status(dataDir string) (*Attempt, error)
	// Guard waits until an attempt has ended, and rolls it back unless the new program is ready in time.
	Guard(ctx context.Context, dataDir string) error
}

const (
	// FetchTimeout is how long a new program may take to come from other hosts.
	FetchTimeout = 30 * time.Minute
	// MaxProblems and MaxProblem bound the Problems of an attempt: how many, and the bytes of each.
	MaxProblems, MaxProblem = 256, 256
	// MaxTimeout is the longest time that a host may be given to be ready.
	MaxTimeout = time.Hour
)

// InheritsName is the name of the hidden command by which a program says that it takes listening sockets over from the one before it in its process: it prints
// InheritsAnswer. An earlier version would have them open and could not listen there.
const (
	InheritsName   = "upgrade-inherits"
	InheritsAnswer = "listeners"
)

// GuardName is the name of the hidden command that Upgrade starts.
const GuardName = "upgrade-guard"
